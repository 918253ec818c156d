public import AccelTensors
public import AccelWeightCompression

extension WhisperCPPFormat {
    public static var reading: FormatReading {
        let types = GGMLType.all.filter { WhisperFile.fileType(of: $0) != nil }
        return FormatReading(
            families: WhisperCPPExporter.families,
            schemes: types.map { .init($0.name, $0.elements == 1 ? .exact : .kept) })
    }
}

extension WhisperCPPExporter {
    public static var families: [String]? { ["whisper"] }

    public static func unsupportedReason(of codec: any WeightCodec, shape: Shape) -> String? {
        do {
            var types = WhisperTypes([shape])
            try types.add("weight", codec, .float32, shape)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
