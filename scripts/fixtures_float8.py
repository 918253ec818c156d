"""Makes Tests/Fixtures/float8.safetensors: numbers, and the codes that torch gives them as 8-bit floating-point numbers.

usage: fixtures_float8.py        (wants torch, safetensors)
`e4m3.values` and `e5m2.values` F32 [n] lie within the types' ranges, where torch does not overflow; `e4m3.codes` and
`e5m2.codes` U8 [n].
"""

import safetensors.torch
import torch

import fixtures

if __name__ == "__main__":
    generator = torch.Generator().manual_seed(8)
    tensors = {}
    for name, kind in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        codes = torch.arange(256, dtype=torch.int16).to(torch.uint8)
        exact = codes.view(kind).float()
        exact = exact[exact.isfinite()]
        ordered = exact.unique()
        # Every value, every middle of two, and what lies just beside them; then numbers of all sizes.
        middles = (ordered[1:].double() + ordered[:-1].double()).div(2).float()
        inf = torch.tensor(float("inf"))
        beside = torch.cat([torch.nextafter(middles, inf), torch.nextafter(middles, -inf)])
        sizes = torch.randn(2000, generator=generator) * torch.exp2(torch.rand(2000, generator=generator) * 40 - 26)
        tiny = torch.tensor([0.0, -0.0, 1e-45, -1e-45, 1e-40, 1e-20])
        values = torch.cat([exact, middles, beside, sizes, tiny])
        values = values[values.abs() <= torch.finfo(kind).max].contiguous()
        tensors[f"{name}.values"] = values
        tensors[f"{name}.codes"] = values.to(kind).view(torch.uint8)
    safetensors.torch.save_file(tensors, fixtures.FIXTURES / "float8.safetensors")
