public import AccelTensors
public import AccelWeightCompression

extension MLXFormat {
    public static var reading: FormatReading {
        let affine = MLXScheme.allBits.map { FormatReading.Scheme("affine, \($0) bits", .kept) }
        return FormatReading(families: MLXExporter.families, schemes: FormatReading.plain + affine)
    }
}

extension MLXExporter {
    public static var families: [String]? { MLXFamily.all.map(\.name) }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        guard case .unsupported(let reason) = MLXScheme.storage(of: codec, elementType: .float32, shape: shape) else {
            return nil
        }
        return reason
    }
}
