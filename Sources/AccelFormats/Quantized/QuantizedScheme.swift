import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// A way in which other tools store quantized weights in safetensors files. A scheme is a file in `Schemes/` and a line in
/// `QuantizedSchemes`. The names and types of tensors decide; config.json resolves the ambiguities.
protocol QuantizedScheme: Sendable {
    /// The name in remarks and errors, e.g. `GPTQ`.
    static var title: String { get }
    /// The end of the name of one tensor that every layer of the scheme has, e.g. `.qweight`.
    static var mark: String { get }
    /// The ends of the names of all tensors that the weight is made of: a change of any of them changes the weight, or is rejected.
    static var parts: [String] { get }
    /// Tensors beside them that change no weight, with the reason.
    static var idleParts: [IdleParts] { get }
    /// The end of the weight's name in the model, after the name of the layer.
    static var weightName: String { get }
    /// Returns whether a layer, which has the mark, is of this scheme.
    static func fits(_ layer: QuantizedLayer) -> Bool
    /// Reads the weight of a layer.
    /// - Throws: `FormatError` for tensors that contradict each other; `RequestError` for variants that are not supported.
    static func weight(of layer: QuantizedLayer) throws -> QuantizedWeight
}

extension QuantizedScheme {
    static var weightName: String { ".weight" }
    static var idleParts: [IdleParts] { [] }
    /// The ends of the names of all tensors of a layer.
    static var claimedParts: [String] { parts + idleParts.flatMap(\.names) }
}

/// Tensors of a layer that change no weight.
struct IdleParts: Sendable {
    let reason: String
    /// The ends of their names.
    let names: [String]

    init(_ reason: String, _ names: [String]) { (self.reason, self.names) = (reason, names) }

    /// Scales of a runtime that rounds activations. A product with activations as they are does not have them.
    static func activations(_ names: String...) -> IdleParts { IdleParts(activationReason, names) }
    static let activationReason =
        "scales of activations, which are not read: activations are not quantized here"
    /// Scales of a runtime that rounds keys and values of caches.
    static let caches = IdleParts(
        "scales of caches, which are not read: keys and values are not quantized here", [".k_scale", ".v_scale"])
}

/// The registry of schemes.
enum QuantizedSchemes {
    /// All schemes; the first that fits reads a layer.
    static let all: [any QuantizedScheme.Type] = [
        GPTQScheme.self, AWQScheme.self, BitsAndBytesNF4Scheme.self, BitsAndBytesFP4Scheme.self,
        BitsAndBytesInt8Scheme.self, PackedScheme.self, PackedMXFP4Scheme.self, PackedNVFP4Scheme.self,
        ModelOptNVFP4Scheme.self, BlockFloat8Scheme.self, Float8Scheme.self, IntegerScheme.self, GPTOSSScheme.self,
        HQQScheme.self, TorchAOScheme.self, QuantoScheme.self, MLXLayerScheme.self,
    ]

    /// The methods of `quantization_config` that are not read, each with the reason.
    static let rejected: [String: String] = [
        "aqlm": "has codebooks of vectors", "vptq": "has codebooks of vectors",
        "higgs": "turns weights by Hadamard matrices",
        "spqr": "has weights outside of its groups", "fp_quant": "turns weights by Hadamard matrices",
        "fouroversix": "chooses between two grids in each block", "sinq": "has scales of rows and columns",
        "quip": "has codebooks of vectors, and turns weights by Hadamard matrices",
        "gemma": "has the layouts of phone kernels", "eetq": "has codes in the order of one GPU kernel",
        "bitnet": "multiplies rounded activations",
    ]
}

extension QuantizedSchemes {
    /// The ends of the names of two tensors that layers of such a method have, for files whose config.json does not name it.
    private static let marks: [(first: String, second: String, method: String)] = [
        (".Qidxs", ".SU", "quip"), (".codes", ".codebooks", "aqlm"), (".weight_scales", ".weight", "eetq"),
    ]

    /// Rejects a checkpoint of a method that is not read.
    /// - Throws: `RequestError` (unavailable) that names the method and its mark.
    static func rejectMarked(_ checkpoint: Checkpoint) throws {
        for tensor in checkpoint.tensors {
            for mark in marks where tensor.name.hasSuffix(mark.first) {
                let other = checkpoint[String(tensor.name.dropLast(mark.first.count)) + mark.second]
                // The weights of EETQ are integers.
                guard let other, mark.method != "eetq" || other.elementType == .int8 else { continue }
                throw RequestError(
                    "\(tensor.error("is of \(mark.method), which \(rejected[mark.method] ?? "") and is not supported")); "
                        + "convert the original model", status: .unavailable)
            }
        }
    }
}

/// A weight as its scheme stores it. Its codes are read when they are used.
enum QuantizedWeight: Sendable {
    /// A codec has the codes and scales of the checkpoint.
    case encoded(
        codec: String, shape: Shape, elementType: ElementType = .float32, sections: @Sendable () throws -> [ByteView])
    /// No codec has the scheme: the exact values.
    case decoded(shape: Shape, reason: String, values: @Sendable () throws -> [Float])
}

/// The tensors of one quantized layer.
struct QuantizedLayer {
    let checkpoint: Checkpoint
    /// The name of the layer.
    let name: String
    let configuration: QuantizationConfiguration
    let scheme: any QuantizedScheme.Type
    /// The codec and element type that accelc recorded for the weight; nil for layers of other tools.
    let recorded: (scheme: String?, type: ElementType?)

    /// The tensor whose name is that of the layer and this end.
    subscript(part: String) -> StoredTensor? { checkpoint[name + part] }

    /// Returns a tensor that the scheme needs.
    func tensor(_ part: String) throws -> StoredTensor {
        if let tensor = self[part] { return tensor }
        throw (try mark).error("there is no \(quoted(name + part)), which \(scheme.title) has beside it")
    }

    /// Returns a tensor of given types and shape.
    func tensor(_ part: String, _ types: [ElementType], _ shape: Shape? = nil) throws -> StoredTensor {
        let tensor = try tensor(part)
        guard types.contains(tensor.elementType), shape == nil || tensor.shape == shape else {
            let wanted = types.map(\.rawValue).joined(separator: " or ")
            throw tensor.error(
                "expected \(wanted)\(shape.map { " \($0)" } ?? ""), found \(tensor.elementType.rawValue) \(tensor.shape)"
            )
        }
        return tensor
    }

    /// Returns a matrix of given types.
    func matrix(_ part: String, _ types: [ElementType]) throws -> StoredTensor {
        let tensor = try tensor(part, types)
        guard tensor.shape.rank == 2, tensor.shape.count > 0 else {
            throw tensor.error("expected a matrix, found \(tensor.shape)")
        }
        return tensor
    }

    /// The tensor that marks the layer.
    var mark: StoredTensor {
        get throws {
            guard let tensor = self[scheme.mark] else {
                throw FormatError(
                    file: checkpoint.folder, location: .tensor(name + scheme.mark, index: nil), reason: "is missing")
            }
            return tensor
        }
    }
}

extension StoredTensor {
    /// The types of scales.
    static let scaleTypes: [ElementType] = [.float32, .float16, .bfloat16]

    /// Returns finite scales.
    func finiteScales() throws -> [Float] {
        let scales = floats()
        if let index = scales.firstIndex(where: { !$0.isFinite }) {
            throw error("is \(scales[index]), but scales have to be finite", index: index)
        }
        return scales
    }

    /// The elements as bytes.
    var byteArray: [UInt8] { bytes.withBytes { [UInt8]($0) } }
}

extension Shape {
    /// The numbers of rows and columns of a matrix.
    var matrix: (rows: Int, columns: Int) { (dimensions[0], dimensions[1]) }
}
