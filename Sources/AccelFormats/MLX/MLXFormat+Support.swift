public import AccelTensors
public import AccelWeightCompression

extension MLXFormat {
    public static var reading: FormatReading {
        let affine = MLXScheme.allBits.map { FormatReading.Scheme("affine, \($0) bits", .kept) }
        let floats = MLXScheme.Mode.allCases.filter { $0.sizes != nil }.map { FormatReading.Scheme($0.rawValue, .kept) }
        return FormatReading(families: MLXExporter.families, schemes: FormatReading.plain + affine + floats)
    }
}

extension MLXExporter {
    public static var families: [String]? { MLXFamily.all.map(\.name) }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        let storage = MLXScheme.storage(of: codec, elementType: .float32, shape: shape, as: "layer.weight")
        if case .unsupported(let scheme) = storage { return scheme.reason }
        return nil
    }
}
