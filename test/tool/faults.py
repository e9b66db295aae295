# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong between programs and servers, at random."""

import collections
import threading

from s3_server import error
from web import Plan

RUBBISH = (b'', b'<Error>', b'<?xml version="1.0"?><Error><Code>', b'\0\xff<a/>',
           b'<Error><Code>%s</Code></Error>' % (b'x' * 70000))


def later(seconds):
    """Return an event that happens after a while."""
    event = threading.Event()
    timer = threading.Timer(seconds, event.set)
    timer.daemon = True
    timer.start()
    return event


class Faults:
    """A plan for a Web: most requests go well.

    chooser  a random.Random
    part     the part of all requests that do not
    counts   how often each fault was injected

    A server spells its ETags in one way, until respell() is called.
    """

    SPELLINGS = ('', '', '', 'bare', 'weak', 'none')

    def __init__(self, chooser, part=0.15):
        self.chooser = chooser
        self.part = part
        self.counts = collections.Counter()
        self.lock = threading.Lock()
        self.spelling = ''
        self.kinds = {
            'delay': lambda: Plan(hold=later(chooser.uniform(0, 0.05))),
            'busy': lambda: Plan(status=chooser.choice((429, 503)),
                                 headers=[('Retry-After', '0')],
                                 body=self.body('SlowDown')),
            'failing': lambda: Plan(status=chooser.choice((500, 502, 504)),
                                    body=self.body('InternalError')),
            'cut': lambda: Plan(cut=chooser.choice(
                (0, 1, chooser.randrange(2000), chooser.randrange(70000)))),
            'reset': lambda: Plan(reset=True),
            'wrong range': lambda: Plan(shift=chooser.choice((1, 100, 65536))),
            'short': lambda: Plan(longer=chooser.choice((1, 4096))),
            'other tag': lambda: Plan(etag='"%x"' % chooser.getrandbits(64)),
            'drip': lambda: Plan(drip=True),
        }
        # A drip takes half of the timeout.
        self.weights = [0.01 if kind == 'drip' else 1 for kind in self.kinds]

    def body(self, code):
        return self.chooser.choice((error(code), *RUBBISH))

    def respell(self):
        with self.lock:
            self.spelling = self.chooser.choice(self.SPELLINGS)

    def spelled(self):
        if self.spelling == 'bare':
            return Plan(etag='0123456789abcdef')
        if self.spelling == 'weak':
            return Plan(etag='W/"1"')
        if self.spelling == 'none':
            return Plan(etag=' ')
        return None

    def __call__(self, request, number):
        with self.lock:
            if self.chooser.random() >= self.part:
                return self.spelled()
            kind, = self.chooser.choices(list(self.kinds), self.weights)
            # With other spellings nothing tells one state from another.
            if kind == 'other tag' and self.spelling:
                return self.spelled()
            self.counts[kind] += 1
            plan = self.kinds[kind]()
            if not plan.etag and self.spelling:
                plan.etag = self.spelled().etag
            return plan
