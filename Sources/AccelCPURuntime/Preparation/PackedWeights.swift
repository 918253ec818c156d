public import AccelByteIO
import AccelPrograms
import AccelTensors
import CAccelKernels

/// The weights of a model as the kernels of this processor pack them: panels for matrix products. With them a run packs
/// nothing; without them it packs while it multiplies, with the same result.
///
/// They are a safetensors file of bytes. A tensor's name is the index of the weight, a space, and the layout.
public struct PackedWeights: Sendable {
    /// Increases when a layout changes.
    public static let version = 1
    private let byWeight: [Int: [String: ByteView]]

    /// Reads a file that `write` has made of the same model.
    /// - Parameter file: the name, for errors.
    /// - Throws: `FormatError` for another file.
    public init(_ content: ByteView, file: String) throws(FormatError) {
        var byWeight: [Int: [String: ByteView]] = [:]
        for tensor in try SafetensorsFile(content, file: file).tensors {
            let parts = tensor.name.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let index = Int(parts[0]), tensor.elementType == .uint8 else {
                throw FormatError(
                    file: file, location: .tensor(tensor.name, index: nil),
                    reason: "expected bytes called by the index of a weight and a layout")
            }
            byWeight[index, default: [:]][String(parts[1])] = tensor.bytes
        }
        self.byWeight = byWeight
    }

    /// The layouts that kernels choose on this processor. Weights packed on another one are of use where it has the same.
    public static var layouts: String {
        [4, 8].map { bits in
            "\(bits) bits: \(Int8GEMMKernel.layout(hasQuads: ck_int8_wants_quads(Int32(bits)) != 0))"
        }.joined(separator: ", ")
    }

    func forms(of weight: Int) -> [String: ByteView] { byWeight[weight] ?? [:] }

    /// Writes the large weights that a model's kernels pack. The largest of them is in memory at a time.
    /// - Returns: whether there are any; without them no file is written.
    /// - Throws: as `PreparedModel.prepare`; `RequestError` if the file cannot be written.
    public static func write(of model: PreparedModel, to path: String, threads: Int) throws -> Bool {
        var seen = Set<String>()
        var forms: [(name: String, packing: WeightPacking)] = []
        for (index, function) in model.program.functions.enumerated() {
            for (call, kernel) in zip(function.calls, try model.kernelsWithoutMemory(of: index)) {
                // Kernels read a small weight where it is, and its memory is not there before the model is prepared.
                guard let packing = kernel.packing, case .weight(let weight) = call.inputs[packing.input].storage,
                    try model.weights.resident(weight) == nil, seen.insert("\(weight) \(packing.layout)").inserted
                else { continue }
                forms.append(("\(weight) \(packing.layout)", packing))
            }
        }
        guard !forms.isEmpty else { return false }
        var writer = try SafetensorsWriter(
            replacing: path, as: .part,
            entries: forms.map { .init(name: $0.name, elementType: .uint8, shape: [$0.packing.byteCount]) })
        for (name, packing) in forms {
            let whole = try ByteBuffer(allocating: packing.byteCount, for: "packed weight \(name)")
            try Parallel.forEach(packing.panels, threads: threads) { panel in
                let scratch = try ByteBuffer(allocating: max(packing.scratchFloats, 1) * 4, for: "packing")
                packing.pack(
                    panel, whole.bytes.baseAddress.unsafelyUnwrapped,
                    scratch.bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: Float.self))
            }
            try writer.append(UnsafeRawBufferPointer(whole.bytes))
        }
        try writer.finish()
        return true
    }
}
