# SPDX-License-Identifier: Apache-2.0
"""A small writer and reader of GGUF v3 files (little-endian): metadata, f32 and q8_0 tensors.

File: magic, version, counts | metadata | tensor infos | padding | tensor data, each tensor aligned.
Dimensions are stored fastest first: a [out, in] matrix has dims (in, out).
q8_0: blocks of 32 values along the fastest dimension, float16 scale d = max|x| / 127, then 32 int8 q; x ~ d * q.
"""
import struct

import numpy as np

ALIGN = 32
F32, Q8_0 = 0, 8
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
_FORMAT = {0: "B", 1: "b", 2: "H", 3: "h", U32: "I", I32: "i", FLOAT: "f", BOOL: "?", 10: "Q", 11: "q", 12: "d"}


def quantize(x):
    """q8_0 bytes of a float32 array whose last dimension is a multiple of 32."""
    b = np.ascontiguousarray(x, dtype=np.float32).reshape(-1, 32)
    d = np.abs(b).max(1) / np.float32(127)
    inv = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d > 0)
    y = b * inv[:, None]
    q = (np.sign(y) * np.floor(np.abs(y) + np.float32(0.5))).astype(np.int8)  # half away from zero
    out = np.empty((len(b), 34), dtype=np.uint8)
    out[:, :2] = d.astype("<f2").view(np.uint8).reshape(-1, 2)
    out[:, 2:] = q.view(np.uint8)
    return out.tobytes()


def dequantize(raw, shape):
    """float32 array of q8_0 bytes."""
    b = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 34)
    d = b[:, :2].copy().view("<f2").astype(np.float32)
    return (d * b[:, 2:].view(np.int8).astype(np.float32)).reshape(shape)


def _string(s):
    raw = s.encode("utf-8") if isinstance(s, str) else s
    return struct.pack("<Q", len(raw)) + raw


def _value(kind, v):
    if kind == STRING:
        return _string(v)
    if kind == ARRAY:
        of, items = v
        return struct.pack("<IQ", of, len(items)) + b"".join(_value(of, x) for x in items)
    return struct.pack("<" + _FORMAT[kind], v)


def write(path, meta, tensors):
    """meta: [(key, kind, value)]; tensors: [(name, float32 array, F32 or Q8_0)], written in this order."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(meta))
    for key, kind, v in meta:
        head += _string(key) + struct.pack("<I", kind) + _value(kind, v)
    data = b""
    for name, x, kind in tensors:
        raw = quantize(x) if kind == Q8_0 else np.ascontiguousarray(x, dtype="<f4").tobytes()
        head += _string(name) + struct.pack("<I", x.ndim) + struct.pack("<%dQ" % x.ndim, *x.shape[::-1])
        head += struct.pack("<IQ", kind, len(data))
        data += raw + b"\0" * (-len(raw) % ALIGN)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGN) + data)


class _Cursor:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, fmt):
        v = struct.unpack_from("<" + fmt, self.raw, self.at)
        self.at += struct.calcsize("<" + fmt)
        return v if len(v) > 1 else v[0]

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.raw[self.at - n:self.at].decode("utf-8")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            of, n = self.take("IQ")
            return [self.value(of) for _ in range(n)]
        return self.take(_FORMAT[kind])


def read(path):
    """({key: value}, {name: float32 array}) of a file of f32 and q8_0 tensors."""
    with open(path, "rb") as f:
        c = _Cursor(f.read())
    if c.raw[:4] != b"GGUF":
        raise ValueError("%s: not a GGUF file" % path)
    c.at = 4
    version, n_tensors, n_meta = c.take("IQQ")
    if version != 3:
        raise ValueError("%s: GGUF version %d, want 3" % (path, version))
    meta = {}
    for _ in range(n_meta):
        key = c.string()
        meta[key] = c.value(c.take("I"))
    infos = []
    for _ in range(n_tensors):
        name = c.string()
        dims = [c.take("Q") for _ in range(c.take("I"))]
        infos.append((name, dims[::-1]) + c.take("IQ"))
    align = meta.get("general.alignment", ALIGN)
    base = (c.at + align - 1) // align * align
    tensors = {}
    for name, shape, kind, offset in infos:
        count = int(np.prod(shape))
        if kind == F32:
            tensors[name] = np.frombuffer(c.raw, "<f4", count, base + offset).reshape(shape)
        elif kind == Q8_0:
            tensors[name] = dequantize(c.raw[base + offset:base + offset + count // 32 * 34], shape)
        else:
            raise ValueError("%s: tensor %s has type %d, want f32 or q8_0" % (path, name, kind))
    return meta, tensors
