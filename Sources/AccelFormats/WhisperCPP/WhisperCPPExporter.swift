public import AccelByteIO
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// Writes a folder with a file that whisper.cpp loads.
public struct WhisperCPPExporter: Exporter {
    public static let name = "whisper.cpp"
    public static let summary = "a folder with a file of whisper.cpp (OUT/ggml-model.bin), for Whisper"
    public static let options: [ExportOption] = []
    public static let output = list.kind
    public static let version = 4
    public static let dependsOnShapes = false
    public static let mixesSchemes = false
    public static let plainScheme = "stored"

    static let fileName = "ggml-model.bin"
    private static let list = ExportList(format: name, title: "a whisper.cpp model", suffixes: [".bin"])

    public init(_ values: ExportOptionValues) {}

    // MARK: - Checks

    public func check(_ model: PlannedExport) throws -> [String: String] {
        guard model.family == "whisper" else {
            throw RequestError(
                "whisper.cpp runs Whisper only, not the family \(quoted(model.family))", code: .familyUnsupported,
                candidates: [GGUFExporter.name])
        }
        try model.functions.rejectRoundedActivations(in: "whisper.cpp")
        _ = try WhisperSettings(
            of: model.assets,
            Dictionary(model.plan.map { (Self.own($0.source.name), $0.source.shape) }) { first, _ in first })
        var types = WhisperTypes(model.plan.map(\.source.shape))
        var plain: [String: String] = [:]
        for weight in model.plan {
            let (codec, source) = (weight.choice.codec, weight.source)
            let name = Self.own(source.name)
            switch WhisperNames.role(of: name, source.shape) {
            case .matrix: try types.add(name, codec, source.elementType, source.shape)
            case .convolution:
                guard codec.plainType(of: source.elementType) == nil else { continue }
                plain[source.name] = "whisper.cpp reads convolutions as plain numbers"
            case .floats:
                // Rounding what is stored as float32 in any case would only lose accuracy.
                guard codec.plainType(of: source.elementType) != source.elementType else { continue }
                plain[source.name] = "whisper.cpp reads vectors and positions in float32 only"
            }
        }
        return plain
    }

    private static func own(_ name: String) -> String {
        name.hasPrefix("model.") ? String(name.dropFirst("model.".count)) : name
    }

    // MARK: - Export

    public func export(_ model: ExportedModel, to path: String) throws -> ExportReport {
        guard model.family == "whisper", model.scalings.isEmpty else {
            throw RequestError(
                "whisper.cpp: the model is not Whisper, or its channels are scaled (method=awq, or smoothed activations), "
                    + "which the file cannot undo")
        }
        let weights = Dictionary(model.program.weights.map { (Self.own($0.tensor.name), $0.tensor) }) { first, _ in
            first
        }
        let configuration = try WhisperSettings(of: model.assets, weights.mapValues(\.shape))
        let names = WhisperNames.all(
            audioLayers: configuration.sizes.audio.layers, textLayers: configuration.sizes.text.layers)
        if let other = Set(weights.keys).subtracting(names.map(\.own)).min() {
            throw RequestError("whisper.cpp reads no tensor like \(quoted(other)); its head is the word embeddings")
        }
        var types = WhisperTypes(weights.values.map(\.shape))
        let ordered = try names.map { own, file in
            guard let weight = weights[own] else {
                throw RequestError(
                    "whisper.cpp needs the tensor \(quoted(own)), which the model lacks",
                    code: .partMissing)
            }
            if WhisperNames.role(of: own, weight.shape) == .matrix {
                try types.add(weight.name, weight.codec, weight.elementType, weight.shape, ofPackage: true)
            }
            return (own: own, file: file, weight: weight)
        }
        guard let type = types.type, let fileType = WhisperFile.fileType(of: type) else {
            throw RequestError("whisper.cpp: the model has no matrices")
        }
        let tensors = try ordered.map { own, file, weight in
            try Self.tensor(file, weight, WhisperNames.role(of: own, weight.shape), type)
        }
        var sizes = configuration.sizes
        sizes.fileType = fileType
        let file = WhisperFile(
            sizes: sizes,
            filters: WhisperFile.Filters(
                bands: sizes.mels, bins: MelFilters.bins, values: MelFilters.slaney(bands: sizes.mels)),
            tokens: configuration.tokens, tensors: tensors)
        try Files.makeFolder(path)
        let digest = try file.write(to: "\(path)/\(Self.fileName)")
        try Self.list.write(
            model.provenance, listing: [Self.fileName], digests: digest.map { [Self.fileName: $0] } ?? [:], in: path)
        let unrun =
            "whisper.cpp has convolutions of float16 only on CPUs, and aborts with those of this file: use float16"
        return try report(file, in: path, type, configuration.remarks + (type == .float32 ? [unrun] : []))
    }

    private static func tensor(
        _ name: String, _ weight: CompressedTensor, _ role: WhisperNames.Role, _ type: GGMLType
    ) throws -> GGUFTensor {
        let shape = WhisperNames.fileShape(of: name, weight.shape)
        switch role {
        case .matrix:
            if case .values(_, let plain)? = weight.encoding {
                return GGUFTensor(name: name, type: type, shape: shape, bytes: plain)
            }
            return GGUFTensor(name: name, type: type, shape: shape, bytes: type.blocks(of: weight))
        case .convolution where type != .float32:
            let bits = weight.floats().map(Half.bits)
            guard !bits.contains(where: { $0 & 0x7C00 == 0x7C00 }) else {
                throw RequestError(
                    "weight \(quoted(weight.name)): it has numbers beyond float16",
                    code: .unsupportedByFormat, candidates: ["float32"])
            }
            return GGUFTensor(name: name, type: .float16, shape: shape, bytes: ByteView(bits))
        case .convolution, .floats:
            return GGUFTensor(name: name, type: .float32, shape: shape, bytes: ByteView(weight.floats()))
        }
    }

    private func report(
        _ file: WhisperFile, in path: String, _ type: GGMLType, _ remarks: [String]
    ) throws -> ExportReport {
        let bytes = file.tensors.reduce(0) { $0 + $1.bytes.count }
        let count = file.tensors.reduce(0) { $0 + $1.shape.count }
        let matrices = file.tensors.filter { $0.type == type && $0.shape.rank == 2 }.count
        return ExportReport(
            bitsPerWeight: count == 0 ? 0 : Double(bytes * 8) / Double(count),
            lines: ["matrices: \(matrices) \(type.name)", "tokens: \(file.tokens.count)"], warnings: remarks,
            json: ["type": .string(type.name), "parameters": .integer(Int64(count))])
    }

    public static func provenance(ofExport file: (_ name: String) throws -> ByteView?) throws -> [String: String] {
        try ExportList.provenance(file)
    }
}

/// The one type that all matrices of a file have.
struct WhisperTypes {
    private(set) var type: GGMLType?
    private var first = ""
    private let columns: Int

    /// - Parameter shapes: of all weights.
    init(_ shapes: [Shape]) { columns = GGUFTarget.commonColumns(of: shapes) }

    /// - Parameter ofPackage: the scheme is that of a package; a model's are checked before it is compressed.
    /// - Throws: `RequestError` for a scheme that whisper.cpp lacks, or another one than that of the matrices before.
    mutating func add(
        _ name: String, _ codec: any WeightCodec, _ elementType: ElementType, _ shape: Shape, ofPackage: Bool = false
    ) throws {
        let plain = codec.plainType(of: elementType).map { GGMLType.plain($0) } ?? GGMLType.coded(by: codec)
        guard let found = plain, WhisperFile.fileTypes[found.name] != nil else {
            let type = codec.plainType(of: elementType)
            throw UnsupportedScheme(
                "whisper.cpp cannot express \(type?.rawValue ?? codec.specification)",
                use: type == nil ? GGUFTarget.nearest(to: codec, columns: columns) : "float16"
            ).error(of: name, inPackage: ofPackage)
        }
        guard shape.columns % found.elements == 0 else {
            throw UnsupportedScheme(
                "its rows of \(shape.columns) weights are not whole blocks of \(found.elements)",
                use: GGMLFormat.fitting(codec.name, columns: shape.columns)
            ).error(of: name, inPackage: ofPackage)
        }
        guard let type else {
            (type, first) = (found, name)
            return
        }
        guard type == found else {
            throw RequestError(
                "whisper.cpp stores all matrices as one type, but \(quoted(first)) is \(type.name) and \(quoted(name)) is "
                    + "\(found.name): use one scheme")
        }
    }
}
