public import AccelTensors
public import AccelWeightCompression

extension CTranslate2Format {
    public static var reading: FormatReading {
        FormatReading(
            hasFunctions: false, families: CTranslate2Exporter.families,
            schemes: CTranslate2Type.all.map { .init($0.name, $0.codes == .none ? .exact : .decoded) })
    }
}

extension CTranslate2Exporter {
    public static var families: [String]? { CTranslate2Model.families.flatMap(\.names) }
    public static var schemeOption: ExportOption? { quantization }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        codec.plainType(of: .float32) == nil ? "CTranslate2 cannot express \(codec.name)" : nil
    }
}
