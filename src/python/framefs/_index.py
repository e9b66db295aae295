# SPDX-License-Identifier: BSD-3-Clause
"""What an index such as a[3, ::2] asks for, as regions of an array."""

import operator
from typing import Any, List, NamedTuple, Sequence, Tuple

import numpy


class Axis(NamedTuple):
    """The items along one dimension: start, start + step, ..."""
    start: int
    count: int
    step: int
    keep: bool  # whether the result has the dimension


def _of_slice(index: slice, extent: int) -> Axis:
    start, stop, step = index.indices(extent)
    return Axis(start, len(range(start, stop, step)), step, True)


def _of_int(index: Any, extent: int, dim: int) -> Axis:
    at = operator.index(index)
    if not -extent <= at < extent:
        raise IndexError('index %d is out of bounds for axis %d with size %d' %
                         (at, dim, extent))
    return Axis(at % extent, 1, 1, False)


def is_advanced(index: Tuple[Any, ...]) -> bool:
    """Does the index have arrays or lists?"""
    return any(isinstance(one, (list, bool, numpy.bool_)) or
               isinstance(one, numpy.ndarray) and one.ndim > 0
               for one in index)


def complete(index: Any, ndim: int) -> Tuple[Any, ...]:
    """Return an index with one item for each dimension, besides None."""
    items = index if isinstance(index, tuple) else (index,)
    used = sum(one.ndim if isinstance(one, numpy.ndarray) and
               one.dtype == bool else one is not None and one is not Ellipsis
               for one in items)
    if used > ndim:
        raise IndexError('too many indices: the array is %d-dimensional' % ndim)
    gaps = [i for i, one in enumerate(items) if one is Ellipsis]
    if len(gaps) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = gaps[0] if gaps else len(items)
    return items[:at] + (slice(None),) * (ndim - used) + items[at + 1:]


def parse(index: Tuple[Any, ...], shape: Sequence[int]) -> List[Axis]:
    """Return the items along each dimension of a complete basic index."""
    axes: List[Axis] = []
    for one in index:
        if one is None:
            continue
        dim = len(axes)
        axes.append(_of_slice(one, shape[dim]) if isinstance(one, slice)
                    else _of_int(one, shape[dim], dim))
    return axes


def bounds(axis: Axis) -> Tuple[int, int]:
    """Return the first item of an axis, and the items up to its last one."""
    if axis.count == 0:
        return 0, 0
    last = axis.start + (axis.count - 1) * axis.step
    return min(axis.start, last), abs(last - axis.start) + 1


def result(index: Tuple[Any, ...], axes: Sequence[Axis]) -> Tuple[Any, ...]:
    """Return the index that shapes what was read of the axes: it drops
    dimensions of one item, and adds new ones."""
    dims = iter(axes)
    return tuple(None if one is None else
                 slice(None) if next(dims).keep else 0 for one in index)


def _bounds_of_array(index: Any, extent: int, dim: int) -> Tuple[Any, int, int]:
    at = numpy.asarray(index)
    if at.size == 0 and at.dtype != bool:
        at = at.astype(numpy.intp)
    if at.dtype == bool:
        if at.shape != (extent,):
            raise IndexError('a boolean index has %s items, and axis %d %d' %
                             (at.shape, dim, extent))
        at = at.nonzero()[0]
    if at.dtype.kind not in 'iu':
        raise IndexError('arrays used as indices must be of integers or '
                         'booleans')
    if at.size == 0:
        return at, 0, 0
    if at.min() < -extent or at.max() >= extent:
        raise IndexError('an index is out of bounds for axis %d with size %d' %
                         (dim, extent))
    at = numpy.where(at < 0, at + extent, at)
    low = int(at.min())
    return at - low, low, int(at.max()) + 1 - low


def box(index: Tuple[Any, ...], shape: Sequence[int]
        ) -> Tuple[List[Tuple[int, int]], Tuple[Any, ...]]:
    """Return the smallest region, as start and count along each dimension, that
    holds what an index with arrays asks for; and the index in that region."""
    region: List[Tuple[int, int]] = []
    inner: List[Any] = []
    for one in index:
        dim = len(region)
        if one is None:
            inner.append(None)
        elif isinstance(one, slice):
            axis = _of_slice(one, shape[dim])
            region.append(bounds(axis))
            inner.append(slice(None, None, axis.step))
        elif is_advanced((one,)):
            at, low, count = _bounds_of_array(one, shape[dim], dim)
            region.append((low, count))
            inner.append(at)
        else:
            axis = _of_int(one, shape[dim], dim)
            region.append((axis.start, 1))
            inner.append(0)
    return region, tuple(inner)
