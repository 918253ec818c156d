public import AccelTensors
public import AccelWeightCompression

extension GGUFFormat {
    public static var reading: FormatReading {
        let read = GGMLType.all.compactMap { type -> FormatReading.Scheme? in
            switch type.storage {
            case .plain(let element): element.isFloatingPoint ? .init(type.name, .exact) : nil
            case .codec: .init(type.name, .kept)
            case .unread: nil
            }
        }
        let unread = GGMLType.all.filter { $0.storage == .unread }.map { ($0.name, "is not read yet") }
        return FormatReading(families: GGUFExporter.families, schemes: read, rejected: unread)
    }
}

extension GGUFExporter {
    public static var families: [String]? { GGUFArchitecture.all.map(\.family) }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        let type = codec.plainType(of: .float32).map(GGMLType.plain) ?? GGMLType.holding(codec, shape)
        guard let type else { return "GGUF cannot express \(codec.name)" }
        return shape.columns % type.elements == 0 ? nil : "its rows are not whole blocks of \(type.elements)"
    }
}
