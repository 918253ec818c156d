import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// Returns whether a format has a scheme for a weight of this shape.
public typealias SchemeFilter = @Sendable (any WeightCodec, Shape) -> Bool

/// A scheme for one weight, with its costs.
struct SchemeCandidate: Sendable {
    let codec: any WeightCodec
    let bytes: Int
    /// The error that this scheme, for this weight alone, adds to the outputs.
    var error: Double
}

/// The schemes that a budget chooses from.
enum CandidateSchemes {
    static let all = [
        "palette:bits=2,group=16,entries=float16", "palette:bits=3,entries=float16",
        "palette:bits=3,group=16,entries=float16", "palette:bits=4,entries=float16",
        "palette:bits=4,group=16,entries=float16", "int4:block=32", "palette:bits=6,group=16,entries=float16",
        "int8", "float16",
    ]

    /// The schemes of llama.cpp's files, from few bits to many.
    private static let ggml = ["q4_0", "q4_k", "q5_0", "q5_k", "q6_k", "q8_0", "float16"]
    /// MLX's scheme, and the bits that it may have.
    private static let affine = (scheme: "affine:bits=4,block=32,scales=weight", bits: ["4", "5", "6", "8"])

    /// Returns the schemes that a budget chooses from for a weight, with their sizes, the smallest first: those that its file can have; all
    /// where it can have none, so that the format tells why.
    static func codecs(
        for source: StoredTensor, allowedBy filter: SchemeFilter?
    ) throws -> [(codec: any WeightCodec, bytes: Int)] {
        let all = try codecs(for: source)
        let allowed = all.filter { filter?($0.codec, source.shape) ?? true }
        return allowed.isEmpty ? all : allowed
    }

    /// Schemes of the kind of a codec: those of llama.cpp, or of MLX; else all.
    /// - Parameter isAllowed: what the file of the weight can have; the schemes are those of any kind that it allows then.
    private static func codecs(
        like codec: (any WeightCodec)?, shape: Shape, where isAllowed: SchemeFilter?
    ) throws -> [any WeightCodec] {
        func affines(like own: AffineCodec?) throws -> [any WeightCodec] {
            let values = try own?.values ?? Codecs.codec(affine.scheme).values
            return try affine.bits.map { try AffineCodec(values.replacing("bits", by: $0)) }
        }
        if let isAllowed {
            let listed = try (all + ggml.dropLast()).map { try Codecs.codec($0) }
            return try (listed + affines(like: codec as? AffineCodec)).filter { isAllowed($0, shape) }
        }
        return switch codec {
        case is GGMLCodec: try ggml.map { try Codecs.codec($0) }
        case let own as AffineCodec: try affines(like: own) + [Codecs.codec("float16")]
        default: try all.map { try Codecs.codec($0) }
        }
    }

    /// Returns the schemes that support a weight, with their sizes, the smallest first.
    /// - Parameters:
    ///   - codec: the weight's codec, whose kind the schemes have; nil for all schemes.
    ///   - isAllowed: what the file of the weight can have; nil for no limit.
    static func codecs(
        for source: StoredTensor, like codec: (any WeightCodec)? = nil, where isAllowed: SchemeFilter? = nil
    ) throws -> [(codec: any WeightCodec, bytes: Int)] {
        try codecs(like: codec, shape: source.shape, where: isAllowed)
            .filter { $0.reasonToKeep(source) == nil }
            .map { codec in
                let sections = codec.sections(elementType: source.elementType, shape: source.shape)
                return (codec, sections.reduce(0) { $0 + $1.byteCount })
            }
            .sorted { $0.bytes < $1.bytes }
    }
}

extension [SchemeCandidate] {
    /// The candidates on the lower convex hull of error over bytes, the smallest first: each step removes less error
    /// per byte than the one before.
    var hull: [SchemeCandidate] {
        var hull: [SchemeCandidate] = []
        for candidate in sorted(by: { ($0.bytes, $0.error) < ($1.bytes, $1.error) }) {
            if let last = hull.last, candidate.error >= last.error { continue }
            while hull.count > 1 {
                let (first, middle) = (hull[hull.count - 2], hull[hull.count - 1])
                let near = (first.error - middle.error) * Double(candidate.bytes - middle.bytes)
                let far = (middle.error - candidate.error) * Double(middle.bytes - first.bytes)
                guard far >= near else { break }
                hull.removeLast()
            }
            if let last = hull.last, last.bytes == candidate.bytes { hull.removeLast() }
            hull.append(candidate)
        }
        return hull
    }
}
