# SPDX-License-Identifier: BSD-3-Clause
"""The sums of a frame, computed anew as framefs-format(7) describes them.

This shares no code with framefs.  XXH3 comes from libxxhash.  Only the places
of the chunks are asked of b2frame, because the index may be compressed.
"""

import ctypes
import ctypes.util
import os
import struct

GROUP = 1024
TAGS_MAX = 4096
TRAILER_END = 23
STAMP = 16

# Where fields of the guard are, of 8 bytes each.
NRANGES, NGROUPS, NVL, NFIXED, TAGS, TRAILER, NAMES, ARRAY, PARTS = range(8, 73,
                                                                          8)


class Hash128(ctypes.Structure):
    _fields_ = [('low', ctypes.c_uint64), ('high', ctypes.c_uint64)]


def load_xxhash():
    """Return libxxhash, or None."""
    name = ctypes.util.find_library('xxhash')
    if not name:
        return None
    library = ctypes.CDLL(name)
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = (ctypes.c_char_p, ctypes.c_size_t,
                                             ctypes.c_uint64)
    library.XXH3_128bits.restype = Hash128
    library.XXH3_128bits.argtypes = (ctypes.c_char_p, ctypes.c_size_t)
    return library


XXHASH = load_xxhash()


def sum_of(data, seed=0):
    data = bytes(data)
    return XXHASH.XXH3_64bits_withSeed(data, len(data), seed)


def le32(data, at):
    return struct.unpack_from('<I', data, at)[0]


def le64(data, at):
    return struct.unpack_from('<Q', data, at)[0]


def be(data, at, size):
    return int.from_bytes(data[at:at + size], 'big')


def read_layers(data, at, origin):
    """Read the metalayers of which the map is at an offset.  Return a list of
    names, offsets and contents, and the offset behind the head of the array."""
    count = be(data, at + 5, 2)
    layers = []
    at += 7
    for _ in range(count):
        size = data[at] - 0xa0
        name = data[at + 1:at + 1 + size]
        off = origin + be(data, at + 2 + size, 4)
        layers.append((name, off, data[off + 5:off + 5 + be(data, off + 1, 4)]))
        at += 6 + size
    return layers, at + 3


class Header:
    """What the sums need of a chunk's header."""

    def __init__(self, chunk):
        self.nbytes, self.blocksize, self.cbytes = struct.unpack_from(
            '<III', chunk, 4)
        self.memcpyed = chunk[2] & 2
        self.variable = chunk[30] & 1
        self.special = chunk[31] >> 4 & 7
        self.has_dict = chunk[31] & 1
        self.typesize = chunk[3]
        if self.variable:
            self.nblocks = self.blocksize
        else:
            size = min(self.blocksize, self.nbytes)
            self.nblocks = -(-self.nbytes // size)


def piece_size(header):
    """The size of the pieces of a chunk that is stored uncompressed."""
    return min(max(header.blocksize, 4096), 1 << 20, header.nbytes)


def layout(chunk):
    """Return the length of the head of a chunk, the place of its record, and the
    bytes of its blocks, as pairs of start and end."""
    header = Header(chunk)
    if header.special:
        return len(chunk), header.cbytes, []
    if header.memcpyed:
        step = piece_size(header)
        return 32, header.cbytes, [
            (at, min(at + step, header.cbytes))
            for at in range(32, header.cbytes, step)]
    head = 32 + 4 * header.nblocks
    if header.has_dict:
        head += 4 + le32(chunk, head)
    if header.variable:
        return head, header.cbytes, [(head, header.cbytes)]
    starts = [le32(chunk, 32 + 4 * i) for i in range(header.nblocks)]
    ends = sorted(starts) + [header.cbytes]
    return head, head, [(start, ends[ends.index(start) + 1])
                        for start in starts]


def record_of(chunk, place):
    """Make the record of a chunk."""
    head, _, blocks = layout(chunk)
    return (b'sum\x01' + struct.pack('<IQ', len(blocks),
                                     sum_of(chunk[:head], place)) +
            b''.join(struct.pack('<Q', sum_of(chunk[start:end]))
                     for start, end in blocks))


def tag_of(record):
    return sum_of(record) & 0xffffffff or 1


def array_sum(content):
    """Sum what the metalayer of an array says of the places of items."""
    ndim = content[2]
    data = bytearray(content[:3 + 3 + ndim * (9 + 2 * 5)])
    for i in range(ndim):
        at = 4 + 9 * i + 1
        items, chunk = be(data, at, 8), be(data, 5 + 9 * ndim + 5 * i + 1, 4)
        data[at:at + 8] = (-(-items // chunk) if chunk else 0).to_bytes(8,
                                                                        'big')
    return sum_of(data[1:])


class Sums:
    """The sums of a frame: as they are stored, and as they should be."""

    def __init__(self, path, info):
        self.path = path
        self.info = info
        self.sparse = os.path.isdir(path)
        self.index_path = os.path.join(path, 'chunks.b2frame') if self.sparse \
            else path
        with open(self.index_path, 'rb') as file:
            self.data = file.read()
        data = self.data
        self.header_len = be(data, 11, 4)
        self.frame_len = be(data, 16, 8)
        self.nbytes, self.cbytes = be(data, 0x1e, 8), be(data, 0x27, 8)
        self.typesize, self.chunksize = be(data, 0x30, 4), be(data, 0x3a, 4)
        self.trailer_len = be(data, self.frame_len - 22, 4)
        self.trailer_off = self.frame_len - self.trailer_len
        self.fingerprint_type = data[self.frame_len - 17]
        self.fingerprint = data[self.frame_len - 16:self.frame_len]
        self.in_force = self.fingerprint_type == 3 and self.nbytes > 0
        if not self.in_force:
            return
        self.index_off = self.header_len + (0 if self.sparse else self.cbytes)
        index = data[self.index_off:]
        self.index = index[:le32(index, 12)]
        self.nchunks = le32(index, 4) // 8
        self.ntags = self.nchunks if self.nchunks <= TAGS_MAX else 0
        at = self.index_off + len(self.index)
        self.guard_off = at + 4 * self.ntags
        self.tags = struct.unpack('<%dI' % self.ntags, data[at:self.guard_off])
        self.guard = data[self.guard_off:self.trailer_off - STAMP]
        self.stamp = data[self.trailer_off - STAMP:self.trailer_off]

    def ranges(self):
        """Return the ranges of places without sums."""
        return [struct.unpack_from('<QQ', self.guard, PARTS + 16 * i)
                for i in range(le64(self.guard, NRANGES))]

    def is_summed(self, place):
        return not any(first <= place < first + n for first, n in self.ranges())

    def place(self, chunk):
        """The place of a chunk that b2frame has described; None: special."""
        if self.sparse:
            return chunk.get('id')
        return chunk['offset'] - self.header_len if 'offset' in chunk else None

    def stored(self, place):
        """The bytes of a chunk, and those behind it."""
        if not self.sparse:
            return self.data[self.header_len + place:]
        with open(os.path.join(self.path, '%08X.chunk' % place), 'rb') as file:
            return file.read()

    def check_record(self, place):
        """Return the record of a chunk if it is right."""
        data = self.stored(place)
        chunk = data[:le32(data, 12)]
        _, at, _ = layout(chunk)
        record = record_of(chunk, place)
        found = data[at:at + len(record)]
        return record if found == record else None

    def fixed(self):
        return read_layers(self.data, 0x57, 0)[0]

    def vl(self):
        return read_layers(self.data, self.trailer_off + 2, self.trailer_off)[0]

    def expected_tags(self):
        """The tags of chunks with sums, 0 for others; None: no record."""
        tags = []
        for chunk in self.info['chunks']:
            place = self.place(chunk)
            if place is None or not self.is_summed(place):
                tags.append(0)
                continue
            record = self.check_record(place)
            tags.append(tag_of(record) if record else None)
        return tags

    def expected_guard(self):
        """The guard, made from the other parts of the frame and its ranges."""
        fixed, vl = self.fixed(), self.vl()
        start = read_layers(self.data, self.trailer_off + 2,
                            self.trailer_off)[1]
        ranges = self.ranges()
        groups = []
        if self.chunksize == 0:
            sizes = [chunk['nbytes'] for chunk in self.info['chunks']]
            groups = [sum_of(struct.pack('<%dI' % len(sizes[i:i + GROUP]),
                                         *sizes[i:i + GROUP]))
                      for i in range(0, len(sizes), GROUP)]
        names = b''.join(name + b'\0' + struct.pack('<I', len(content))
                         for name, _, content in fixed)
        array = [array_sum(content) for name, _, content in fixed
                 if name == b'b2nd']
        tags = self.data[self.guard_off - 4 * self.ntags:self.guard_off]
        numbers = [len(ranges), len(groups), len(vl), len(fixed), sum_of(tags),
                   sum_of(self.data[self.trailer_off:start]), sum_of(names),
                   array[0] if array else 0]
        for pair in ranges:
            numbers += pair
        numbers += groups
        numbers += [sum_of(content) for _, _, content in vl + fixed]
        return (b'b2guard\x02' + struct.pack('<%dQ' % len(numbers), *numbers) +
                record_of(self.index, 0))

    def expected_fingerprint(self):
        fields = struct.pack('<6Q', self.header_len, self.frame_len,
                             self.nbytes, 0 if self.sparse else self.cbytes,
                             self.typesize, self.chunksize)
        data = fields + self.guard
        found = XXHASH.XXH3_128bits(data, len(data))
        return struct.pack('<QQ', found.low, found.high)
