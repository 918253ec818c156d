import AccelByteIO
import AccelPrograms
import AccelTensors

/// The states that a run leaves, for a later run. Large ones lie in a file: those of all layers take more memory than the layers that read
/// them one after the other.
final class KeptStates {
    /// A state of no more bytes stays in memory.
    private let mostBytesInMemory: Int
    private var tensors: [String: HostTensor] = [:]
    /// Elements in the file, as float32.
    private struct Location {
        let offset: Int
        let shape: Shape
        let isHalf: Bool
    }
    private var locations: [String: Location] = [:]
    private var file: ScratchFile?

    init(mostBytesInMemory: Int = 1 << 22) { self.mostBytesInMemory = mostBytesInMemory }

    /// The names of the states.
    var names: Set<String> { Set(tensors.keys).union(locations.keys) }

    /// Takes over a state, in place of an earlier one of its name.
    /// - Throws: `RequestError` (unavailable) if the file cannot be written.
    func keep(_ tensor: HostTensor, as name: String) throws {
        (tensors[name], locations[name]) = (nil, nil)
        let isLarge = 4 * tensor.shape.count > mostBytesInMemory
        let (floats, isHalf): ([Float], Bool)
        switch tensor.elements {
        case .float32(let values) where isLarge: (floats, isHalf) = (values, false)
        case .float16(let values) where isLarge: (floats, isHalf) = (values, true)
        default:
            tensors[name] = tensor
            return
        }
        let file = try file ?? ScratchFile(in: ProcessEnvironment.temporaryFolder)
        self.file = file
        let offset = file.count
        try floats.withUnsafeBytes { try file.append($0) }
        locations[name] = Location(offset: offset, shape: tensor.shape, isHalf: isHalf)
    }

    /// Returns a state; nil without one of this name.
    /// - Throws: `RequestError` (unavailable) if the file cannot be read.
    func state(_ name: String) throws -> HostTensor? {
        if let tensor = tensors[name] { return tensor }
        guard let location = locations[name], let file else { return nil }
        let count = location.shape.count
        let floats = try [Float](unsafeUninitializedCapacity: count) { target, filled in
            try file.read(
                at: location.offset,
                into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(target)[..<(4 * count)]))
            filled = count
        }
        return HostTensor(location.isHalf ? .float16(floats) : .float32(floats), location.shape)
    }
}
