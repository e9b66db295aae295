# SPDX-License-Identifier: BSD-3-Clause
"""Stores that are made on the spot, laid out as python-blosc2 does.

Format: stores.md.
"""

import os
import struct
import zipfile

from mounted import chunk, frame, write

HEADER_END = 0x57  # end of the fields before the metalayers
MARKER = b'\x81\xa7version\1'


def pack(value):
    """Encode a value of a store as msgpack."""
    if isinstance(value, dict):
        return b'\xdf' + struct.pack('>I', len(value)) + b''.join(
            pack(key) + pack(one) for key, one in value.items())
    if value is None:
        return b'\xc0'
    if isinstance(value, str):
        value = value.encode('utf-8', 'surrogateescape')
        return b'\xdb' + struct.pack('>I', len(value)) + value
    return bytes([value]) if value < 128 else b'\xcf' + struct.pack('>Q', value)


def layers(contents, start, count_from):
    """Encode metalayers whose names start at this offset, and whose own offsets
    count from the other one."""
    names = b''.join(bytes([0xa0 + len(name)]) + name.encode() + b'\xd2????'
                     for name in contents)
    head = b'\x93\xcd' + struct.pack('>H', 7 - count_from + len(names)) + \
        b'\xde' + struct.pack('>H', len(contents))
    off = start + len(head) + len(names) + 3
    values = b'\xdc' + struct.pack('>H', len(contents))
    for content in contents.values():
        names = names.replace(b'????', struct.pack('>I', off), 1)
        value = b'\xc6' + struct.pack('>I', len(content)) + content
        off += len(value)
        values += value
    return head + names + values


def layered(data, fixed, variable=None, chunksize=8192):
    """Return a frame with metalayers.  Format: frame.md, 3 and 7."""
    whole = frame(data, chunksize)
    body = whole[0x61:-35]
    header = whole[:HEADER_END] + layers(fixed, HEADER_END, 0)
    stored = {name: chunk(content)
              for name, content in (variable or {}).items()}
    trailer = b'\x94\1' + layers(stored, 2, 1)
    trailer += b'\xce' + struct.pack('>I', len(trailer) + 23) + b'\xd8\0' + \
        bytes(16)
    result = bytearray(header + body + trailer)
    result[0x0b:0x0f] = struct.pack('>I', len(header))
    result[0x10:0x18] = struct.pack('>Q', len(result))
    result[0x44] = 0xc3 if stored else 0xc2
    return bytes(result)


def embed(values, marker='b2embed', places=None, **others):
    """Return an embed store of frames by key.  `places` replaces the true place
    of a key in its map."""
    heap = b''
    keys = {}
    for key, value in values.items():
        keys[key] = {'offset': len(heap), 'length': len(value)}
        heap += value
    keys.update(places or {})
    metadata = pack({'embed_map': keys, 'current_offset': len(heap)})
    return layered(heap, {marker: MARKER},
                   {'estore_metadata': metadata, **others})


def make_zip(path, members, values=None, method=zipfile.ZIP_STORED):
    """Make a .b2z file of members, and of embedded values unless they are
    None."""
    with zipfile.ZipFile(path, 'w', method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        if values is not None:
            archive.writestr('embed.b2e', embed(values, 'b2tree'))


def make_directory(path, members, values):
    """Make a .b2d directory of members and embedded values."""
    os.makedirs(path)
    for name, data in members.items():
        os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
        write(os.path.join(path, name), data)
    write(os.path.join(path, 'embed.b2e'), embed(values, 'b2tree'))
