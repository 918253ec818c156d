"""Makes Tests/Fixtures/images: picture files with the pixels that Pillow reads, and goldens of its resizing and of transformers.

usage: fixtures_images.py       (wants numpy, Pillow 13 or later, torch and transformers)
- `png/*`: each colour type and bit depth, plain and interlaced, by a writer of this script, because Pillow writes few of them.
- `jpeg/*`: by Pillow; factors of sampling that it does not write are edited into its files, whose pixels are then shuffled.
- `jpeg/cmyk*`, `jpeg/ycck*`: the four inks of print, by Pillow, with the segment of Adobe changed or left out.
- `exif/*`: each orientation, and EXIF and XMP that are odd or corrupt, in small pictures; each is read as `load_image` of transformers does.
- `photo.png`, `photo.jpg`, `tall.png`, `tiny.png`: the pictures that are resized and run.
- `goldens.json`: the size and the CRC-32 of the pixels of each file; of `photo.png` and others at other sizes; of the bytes and the float32
  values that image processors make; and the outputs of models of Tests/Fixtures for two pictures.
"""

import io
import json
import pathlib
import random
import struct
import warnings
import zlib

import numpy
import torch
import transformers
from PIL import Image, ImageOps

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"
FOLDER = FIXTURES / "images"
ADAM7 = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
COLORS = {0: "gray", 2: "rgb", 3: "palette", 4: "grayalpha", 6: "rgba"}


def photo(width, height):
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [128 + 90 * numpy.sin(x / 5 + y / 11), (5 * x + 3 * y) % 256, 128 + 100 * numpy.cos(x * y / 37)]
    noise = numpy.random.default_rng(width).normal(0, 18, (height, width, 3))
    return Image.fromarray(numpy.clip(numpy.stack(planes, -1) + noise, 0, 255).astype(numpy.uint8))


def golden(pixels):
    pixels = numpy.ascontiguousarray(pixels)
    return {"height": pixels.shape[0], "width": pixels.shape[1], "crc": zlib.crc32(pixels.tobytes())}


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def filtered(rows, distance, draw):
    """The rows with filters that are drawn."""
    made, above = b"", bytes(len(rows[0]))
    for row in rows:
        kind, line = draw.randrange(5), bytearray()
        for index, value in enumerate(row):
            a = row[index - distance] if index >= distance else 0
            b, c = above[index], above[index - distance] if index >= distance else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line.append((value - [0, a, b, (a + b) // 2, nearest][kind]) & 255)
        made += bytes([kind]) + bytes(line)
        above = row
    return made


def png(width, height, depth, color, interlaced):
    draw = random.Random(f"{depth} {color} {interlaced}")
    # Some colours of the palette are missing.
    values = min(1 << depth, 200) if color == 3 else 1 << depth
    pixels = [[[draw.randrange(values) for _ in range(SAMPLES[color])] for _ in range(width)] for _ in range(height)]
    if (color, depth) == (0, 16):
        pixels = [[[value[0] >> draw.choice([0, 8])] for value in row] for row in pixels]

    def packed(row):
        bits = "".join(format(sample, f"0{depth}b") for pixel in row for sample in pixel)
        bits += "0" * (-len(bits) % 8)
        return bytes(int(bits[index : index + 8], 2) for index in range(0, len(bits), 8))

    data = b""
    for x, columns, y, rows in ADAM7 if interlaced else [(0, 1, 0, 1)]:
        lines = [packed(row[x::columns]) for row in pixels[y::rows]]
        if lines and lines[0]:
            data += filtered(lines, max(1, SAMPLES[color] * depth // 8), draw)
    data = zlib.compress(data, 9)
    extra = chunk(b"gAMA", struct.pack(">I", 100000))
    if color == 3:
        extra += chunk(b"PLTE", bytes(draw.randrange(256) for _ in range(3 * min(1 << depth, 150))))
        extra += chunk(b"tRNS", bytes([0, 128]))
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    parts = [chunk(b"IDAT", data[:20]), chunk(b"IDAT", b""), chunk(b"IDAT", data[20:])]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + b"".join(parts) + chunk(b"IEND", b"")


def sampled(content, factors, size):
    """The file with other sampling factors of the first component and another size, which has as many units."""
    content = bytearray(content)
    start = next(index for index in range(len(content)) if content[index] == 0xFF and content[index + 1] in (0xC0, 0xC2))
    content[start + 11] = factors
    content[start + 5 : start + 9] = struct.pack(">HH", size[1], size[0])
    return bytes(content)


def jpeg(picture, **options):
    content = io.BytesIO()
    picture.save(content, "JPEG", **options)
    return content.getvalue()


def files():
    for depth, color in [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4), (16, 4), (8, 6), (16, 6)]:
        for interlaced in (0, 1):
            yield f"png/{COLORS[color]}{depth}{'i' * interlaced}.png", png(11, 9, depth, color, interlaced)
    yield "png/one.png", png(1, 1, 8, 2, 1)
    picture, squares = photo(37, 27), photo(32, 32)
    for progressive in (False, True):
        end = "p" * progressive
        yield f"jpeg/gray{end}.jpg", jpeg(picture.convert("L"), quality=80, progressive=progressive)
        yield f"jpeg/rgb{end}.jpg", jpeg(picture, quality=80, keep_rgb=True, progressive=progressive)
        for sampling, name in enumerate(("444", "422", "420")):
            yield f"jpeg/{name}{end}.jpg", jpeg(picture, quality=85, subsampling=sampling, progressive=progressive)
        yield f"jpeg/420r{end}.jpg", jpeg(picture, quality=30, subsampling=2, progressive=progressive, restart_marker_blocks=2)
        four = jpeg(squares, quality=75, subsampling=1, progressive=progressive)
        yield f"jpeg/440{end}.jpg", sampled(four, 0x12, (15, 61))
        yield f"jpeg/411{end}.jpg", sampled(jpeg(squares, quality=75, subsampling=2, progressive=progressive), 0x41, (61, 15))
    yield "jpeg/one.jpg", jpeg(photo(1, 1), quality=75, subsampling=2)
    yield "jpeg/narrow.jpg", jpeg(photo(3, 40), quality=75, subsampling=2)
    yield from inks()
    yield from orientations()
    yield "photo.png", written_png(photo(40, 30))
    yield "photo.jpg", jpeg(photo(40, 30), quality=90, subsampling=2)
    yield "tall.png", written_png(photo(9, 47))
    yield "tiny.png", written_png(photo(5, 4))


def inks():
    red, green, blue = photo(37, 27).split()
    black = Image.fromarray((numpy.add.outer(numpy.arange(27) * 5, numpy.arange(37) * 4) % 256).astype(numpy.uint8))
    cmyk = Image.merge("CMYK", (red, green, blue, black))
    # Files have inverted inks.
    ycck = Image.merge("CMYK", (*(ImageOps.invert(plane) for plane in photo(37, 27).convert("YCbCr").split()), black))
    for progressive in (False, True):
        end = "p" * progressive
        for sampling, name in ((0, ""), (2, "420")):
            yield f"jpeg/cmyk{name}{end}.jpg", jpeg(cmyk, quality=80, subsampling=sampling, progressive=progressive)
            content = jpeg(ycck, quality=80, subsampling=sampling, progressive=progressive)
            yield f"jpeg/ycck{name}{end}.jpg", transformed(content, 2)
    content = jpeg(cmyk, quality=80)
    yield "jpeg/ycckother.jpg", transformed(content, 1)
    start = content.index(b"\xff\xee")
    yield "jpeg/cmykplain.jpg", content[:start] + content[start + 16 :]


def transformed(content, number):
    """The file with another transform of colours in the segment of Adobe."""
    start = content.index(b"\xff\xee\0\x0eAdobe")
    assert content[start + 15] == 0
    return content[: start + 15] + bytes([number]) + content[start + 16 :]


def entry(tag, kind, count, value, order=">"):
    """An entry of a TIFF directory. A number is stored in 4 bytes, or in 2 bytes for a short one."""
    if not isinstance(value, bytes):
        value = struct.pack(order + ("H" if kind == 3 else "L"), value).ljust(4, b"\0")
    return struct.pack(order + "HHL", tag, kind, count) + value


def tiff(*entries, order=">", number=42, first=8, count=None, rest=bytes(4)):
    head = (b"MM" if order == ">" else b"II") + struct.pack(order + "HL", number, first)
    return head + struct.pack(order + "H", len(entries) if count is None else count) + b"".join(entries) + rest


def xmp(text):
    return f'<x:xmpmeta><rdf:Description {text}</x:xmpmeta>'.encode()


def orientations():
    def png(exif=None, *chunks):
        made = written_png(photo(5, 3))
        extra = b"".join(chunks) + (b"" if exif is None else chunk(b"eXIf", exif))
        return made[:33] + extra + made[33:]

    def jpg(*segments):
        made = jpeg(photo(11, 6).convert("L"), quality=60)
        # Without the segment of JFIF.
        made = made[:2] + made[20:]
        return made[:2] + b"".join(b"\xff\xe1" + struct.pack(">H", len(part) + 2) + part for part in segments) + made[2:]

    mark, adobe = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
    itxt = lambda text, key=b"XML:com.adobe.xmp", middle=bytes(4): chunk(b"iTXt", key + b"\0" + middle + text)
    for number in range(1, 9):
        value = tiff(entry(274, 3, 1, number, "<" if number % 2 else ">"), order="<" if number % 2 else ">")
        yield f"exif/{number}.jpg", jpg(mark + value)
        yield f"exif/{number}.png", png(value)
    six = entry(274, 3, 1, 6)
    odd = {
        "zero": tiff(entry(274, 3, 1, 0)), "nine": tiff(entry(274, 3, 1, 9)), "long": tiff(entry(274, 4, 1, 6)),
        "bytes": tiff(entry(274, 1, 1, b"\6\0\0\0")), "text": tiff(entry(274, 2, 2, b"6\0\0\0")),
        "signed": tiff(entry(274, 8, 1, b"\0\6\0\0")), "negative": tiff(entry(274, 9, 1, b"\xff\xff\xff\xff")),
        "float": tiff(entry(274, 11, 1, struct.pack(">f", 6))), "floats": tiff(entry(274, 11, 1, struct.pack(">f", 6.5))),
        "nan": tiff(entry(274, 11, 1, struct.pack(">f", float("nan")))),
        "rational": tiff(entry(274, 5, 1, 26), rest=bytes(4) + struct.pack(">LL", 12, 2)),
        "ratio0": tiff(entry(274, 5, 1, 26), rest=bytes(4) + struct.pack(">LL", 12, 0)),
        "double": tiff(entry(274, 12, 1, 26), rest=bytes(4) + struct.pack(">d", 8)),
        "long8": tiff(entry(274, 16, 1, 26), rest=bytes(4) + struct.pack(">Q", 3)),
        "two": tiff(entry(274, 3, 2, b"\0\6\0\3")), "three": tiff(entry(274, 3, 3, 26), rest=bytes(4) + b"\0\5\0\1\0\1"),
        "none": tiff(entry(274, 3, 0, 6)), "twice": tiff(six, entry(274, 3, 1, 3)), "again": tiff(entry(274, 99, 1, 3), six),
        "unknown": tiff(entry(271, 77, 1 << 31, 0), six), "huge": tiff(entry(271, 2, 0xFFFFFFFF, 0), six),
        "hugeten": tiff(*[entry(tag, 12, 0xFFFFFFFF, 0) for tag in range(200, 210)], six),
        "overlap": tiff(entry(271, 2, 30, 8), entry(272, 2, 30, 8), entry(274, 3, 3, 8), entry(274, 3, 1, 6)),
        "beyond": tiff(entry(271, 2, 9, 1 << 31), six), "edge": tiff(six, entry(305, 2, 9, 33)),
        "count": tiff(six, count=65535), "count0": tiff(six, count=0), "loop": tiff(six, rest=struct.pack(">L", 8)),
        "itself": tiff(six, first=0), "far": tiff(six, first=0xFFFFFFFF), "magic": tiff(six, number=42 << 8),
        "big": tiff(six, number=43), "wrong": tiff(six, number=7), "empty": b"", "short": b"MM\0*\0\0\0", "head": tiff(six)[:8],
        "cut": tiff(six)[:21], "marked": mark + tiff(six), "twomarks": mark + mark + tiff(six), "noise": bytes(range(200, 240)),
    }
    for name, content in odd.items():
        yield f"exif/{name}.png", png(content)
    for name in ("huge", "cut", "wrong", "short", "loop"):
        yield f"exif/{name}.jpg", jpg(mark + odd[name])
    attribute, element = xmp('tiff:Orientation="6"/>'), xmp("><tiff:Orientation>8</tiff:Orientation>")
    yield "exif/split.jpg", jpg(mark + odd["rational"][:30], mark + odd["rational"][30:])
    yield "exif/xmp.jpg", jpg(adobe + attribute)
    yield "exif/xmpwrong.jpg", jpg(adobe + attribute, mark + odd["wrong"])
    yield "exif/xmpcut.jpg", jpg(mark + odd["cut"], adobe + element)
    yield "exif/xmpboth.jpg", jpg(mark + tiff(entry(274, 3, 1, 3)), adobe + attribute)
    yield "exif/xmplast.jpg", jpg(adobe + attribute, adobe + xmp('tiff:Orientation="x" tiff:Orientation="3"/>'))
    yield "exif/xmp.png", png(None, itxt(element))
    yield "exif/xmpother.png", png(None, itxt(attribute, b"XML"))
    yield "exif/xmpbytes.png", png(odd["bytes"], itxt(attribute))
    yield "exif/xmpempty.png", png(None, itxt(b""), itxt(attribute, middle=b"\0\0\0"))
    late = png()
    yield "exif/late.png", late[:-12] + chunk(b"eXIf", odd["long"]) + late[-12:]
    yield "exif/twochunks.png", png(odd["long"], chunk(b"eXIf", odd["double"]))


def written_png(picture):
    content = io.BytesIO()
    picture.save(content, "PNG", optimize=True)
    return content.getvalue()


def opened(name):
    picture = Image.open(FOLDER / name)
    try:
        picture = ImageOps.exif_transpose(picture)
    except (SyntaxError, struct.error):
        # Pillow reads the picture, but rejects its EXIF.
        assert name.startswith("exif/")
    return picture.convert("RGB")


def resized():
    for name in ("photo.png", "tall.png"):
        for width, height in ((13, 9), (40, 9), (77, 50), (38, 7), (1, 1), (9, 60), (40, 30), (65, 3)):
            for kind in range(6):
                if opened(name).size != (width, height):
                    made = golden(numpy.array(opened(name).resize((width, height), resample=kind)))
                    yield {"picture": name, "filter": kind, **made}


CLASSES = ["CLIP", "ChineseCLIP", "Bit", "ViT", "Siglip", "DeiT", "Blip"]
SETTINGS = {
    "clip": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 12}, "crop_size": {"height": 12, "width": 12}},
    "clip, early": {"feature_extractor_type": "CLIPFeatureExtractor", "size": 13, "crop_size": 11, "resample": 3, "do_resize": True,
                    "do_center_crop": True, "do_normalize": True, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.25]},
    "clip, fast": {"image_processor_type": "CLIPImageProcessorFast", "size": {"shortest_edge": 10, "longest_edge": None},
                   "crop_size": {"height": 15, "width": 18}},
    "clip, crop alone": {"image_processor_type": "CLIPImageProcessor", "do_resize": False, "crop_size": {"height": 35, "width": 35}},
    "vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 20, "width": 17}},
    "vit, early": {"image_processor_type": "ViTFeatureExtractor", "size": 20, "resample": 2},
    "vit, list": {"image_processor_type": "ViTImageProcessor", "size": [7, 30], "resample": 0},
    "vit, bytes": {"image_processor_type": "ViTImageProcessor", "size": 9, "do_rescale": False, "do_normalize": False, "resample": 1},
    "vit, bytes normalised": {"image_processor_type": "ViTImageProcessor", "size": 9, "do_rescale": False, "image_mean": [120, 130, 140],
                              "image_std": [60, 61, 62]},
    "vit, rescaled": {"image_processor_type": "ViTImageProcessor", "size": 9, "do_normalize": False, "rescale_factor": 0.0078125},
    "vit, one mean": {"image_processor_type": "ViTImageProcessor", "size": 9, "image_mean": 0.3, "image_std": 0.4},
    "siglip": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 18, "width": 18}},
    "siglip, edges": {"image_processor_type": "SiglipImageProcessor", "size": {"shortest_edge": 18, "longest_edge": 23}},
    "siglip, far edges": {"image_processor_type": "SiglipImageProcessor", "size": {"shortest_edge": 9, "longest_edge": 90}},
    "siglip, same edge": {"image_processor_type": "SiglipImageProcessor", "size": {"shortest_edge": 9, "longest_edge": 50}},
    "siglip, exchanged edges": {"image_processor_type": "SiglipImageProcessor", "size": {"shortest_edge": 30, "longest_edge": 10}},
    "clip, edges": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 20, "longest_edge": 25},
                    "crop_size": {"height": 16, "width": 16}},
    "vit, within": {"image_processor_type": "ViTImageProcessor", "size": {"max_height": 21, "max_width": 33}},
    "vit, within a row": {"image_processor_type": "ViTImageProcessor", "size": {"max_height": 50, "max_width": 17}},
    "deit, within": {"image_processor_type": "DeiTImageProcessor", "size": {"max_height": 30, "max_width": 20},
                     "crop_size": {"height": 16, "width": 16}},
    "siglip, number": {"image_processor_type": "SiglipImageProcessor", "size": 18},
    "dinov2": {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 16}, "crop_size": {"height": 14, "width": 14},
               "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]},
}


def processor(settings):
    """The processor with Pillow of the class that transformers finds by the name."""
    settings = dict(settings)
    name = settings.pop("image_processor_type", None) or settings.pop("feature_extractor_type")
    name = name.replace("FeatureExtractor", "ImageProcessor").removesuffix("Fast")
    kind = getattr(transformers, f"{name}Pil")
    return kind(**{key: value for key, value in settings.items() if value is not None})


def processed():
    cases = {**SETTINGS, **{name: {"image_processor_type": f"{name}ImageProcessor"} for name in CLASSES}}
    for name, settings in cases.items():
        if isinstance(settings.get("size"), dict):
            settings = {**settings, "size": {key: side for key, side in settings["size"].items() if side}}
        made = processor(settings)
        for picture in ("photo.png", "tall.png", "tiny.png"):
            values = made(opened(picture), return_tensors="np").pixel_values[0]
            pixels = made(opened(picture), do_rescale=False, do_normalize=False, return_tensors="np").pixel_values[0]
            assert pixels.dtype == numpy.uint8
            crc = zlib.crc32(numpy.ascontiguousarray(values.astype(numpy.float32)).tobytes())
            pixels = golden(pixels.transpose(1, 2, 0))
            yield {"case": name, "settings": cases[name], "picture": picture, **pixels, "values": crc}


RUNS = {
    "vit_leftover": {"image_processor_type": "ViTImageProcessor", "size": {"height": 20, "width": 20}},
    "clip_end": {"feature_extractor_type": "CLIPFeatureExtractor", "size": 12, "crop_size": 12},
    "clipvision_plain": {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 18}, "crop_size": {"height": 18, "width": 18}},
    "siglip_both": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 12, "width": 12}},
    "siglip_headless": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 18, "width": 18}},
}


def runs():
    for name, settings in RUNS.items():
        folder = FIXTURES / name
        kind = json.loads((folder / "config.json").read_text())["architectures"][0]
        model = getattr(transformers, kind).from_pretrained(folder).eval()
        for picture in ("photo.png", "photo.jpg"):
            pixels = processor(settings)(opened(picture), return_tensors="pt").pixel_values
            with torch.no_grad():
                if kind == "ViTForImageClassification":
                    result = torch.softmax(model(pixel_values=pixels).logits[0].double(), 0)
                elif kind in ("CLIPModel", "SiglipModel"):
                    states = model.vision_model(pixel_values=pixels).pooler_output
                    if kind == "CLIPModel":
                        states = model.visual_projection(states)
                    result = torch.nn.functional.normalize(states, dim=-1)[0]
                else:
                    output = model(pixel_values=pixels)
                    result = output.pooler_output[0] if output.pooler_output is not None else output.last_hidden_state[0].mean(0)
            yield {"model": name, "settings": settings, "picture": picture, "result": [round(value, 7) for value in result.tolist()]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for folder in ("png", "jpeg", "exif"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    goldens = {"files": []}
    for name, content in files():
        (FOLDER / name).write_bytes(content)
        goldens["files"].append({"file": name, **golden(numpy.array(opened(name)))})
    goldens["resized"] = list(resized())
    goldens["processed"] = list(processed())
    goldens["runs"] = list(runs())
    # A row a line.
    lists = ['"%s": [\n%s\n]' % (name, ",\n".join(map(json.dumps, rows))) for name, rows in goldens.items()]
    (FOLDER / "goldens.json").write_text("{" + ",\n".join(lists) + "}\n")
