import AccelByteIO
import AccelFormats
import AccelTensors

extension FuzzTarget {
    static let ctranslate2 = FuzzTarget(name: "ctranslate2", seeds: [CTranslate2Seed.bytes]) { bytes in
        for weight in try CTranslate2Source(parsing: bytes, file: "fuzz", path: "fuzz").weights {
            let values = try weight.values()
            precondition(values.bytes.count == weight.shape.count * values.elementType.byteCount)
        }
    }
}

/// A model file with a matrix of codes, its factors, a number, and a second name.
private enum CTranslate2Seed {
    static let bytes: [UInt8] = [
        6, 0, 0, 0, 9, 0, 0x54, 0x69, 0x6E, 0x79, 0x53, 0x70, 0x65, 0x63, 0, 1, 0, 0, 0, 3, 0, 0, 0,
        // "a": rank 2, [2, 2], int8
        2, 0, 0x61, 0, 2, 2, 0, 0, 0, 2, 0, 0, 0, 1, 4, 0, 0, 0, 1, 2, 3, 4,
        // "a_scale": rank 1, [2], float32
        8, 0, 0x61, 0x5F, 0x73, 0x63, 0x61, 0x6C, 0x65, 0, 1, 2, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0,
        0x40,
        // "n": a number, int16
        2, 0, 0x6E, 0, 0, 2, 2, 0, 0, 0, 7, 0,
        // "b" stands for "a".
        1, 0, 0, 0, 2, 0, 0x62, 0, 2, 0, 0x61, 0,
    ]
}
