public import AccelTensors
public import AccelWeightCompression

extension CTranslate2Format {
    public static var reading: FormatReading {
        FormatReading(
            families: CTranslate2Exporter.families,
            schemes: CTranslate2Type.all.map { type in
                let way: FormatReading.Way =
                    switch type.codes {
                    case .none: .exact
                    case .int8: .kept
                    case .int16: .decoded
                    }
                return .init(type.name, way)
            })
    }
}

extension CTranslate2Exporter {
    public static var families: [String]? { CTranslate2Model.families.flatMap(\.names) }
    public static var schemeOption: ExportOption? { quantization }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        codec.plainType(of: .float32) == nil ? "CTranslate2 cannot express \(codec.name)" : nil
    }
}
