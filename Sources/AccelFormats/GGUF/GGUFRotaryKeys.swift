import AccelByteIO
import AccelTensors

import func AccelPlatform.log

/// The rotary embeddings that llama.cpp computes by a file's keys and tensors, as the fields of a configuration.
///
/// llama.cpp divides the frequency of each pair by a factor of a tensor, if there is one, and scales it by the inverse of
/// `rope.scaling.factor`: all pairs (linear, which is the default), or those that yarn interpolates. Cosine and sine have the factor
/// `rope.scaling.attn_factor`, and that of yarn.
struct GGUFRotaryKeys {
    private let metadata: GGUFMetadata
    private let tensors: [String: GGUFTensor]
    private let architecture: GGUFArchitecture
    private let headWidth: Int
    /// The names of the tensors of factors that were read.
    private(set) var tensorsRead: Set<String> = []

    init(
        _ metadata: GGUFMetadata, _ tensors: [String: GGUFTensor], _ architecture: GGUFArchitecture, headWidth: Int
    ) {
        (self.metadata, self.tensors, self.architecture) = (metadata, tensors, architecture)
        self.headWidth = headWidth
    }

    private enum Kind: String { case none, linear, yarn, longrope }

    /// Returns the fields of a configuration.
    /// - Parameter hasWindows: gemma3 rotates layers with a window by a base of their own, without scaling.
    /// - Throws: `RequestError` (unavailable) for rotary embeddings that the family does not compute; `FormatError`.
    mutating func members(hasWindows: Bool) throws -> [(key: String, value: JSON)] {
        let base = metadata["rope.freq_base"]
        let theta = try base.exists ? base.double() : 10_000
        let (width, positions) = (try rotatedWidth(), try metadata["context_length"].int(in: 1...1 << 30))
        let stated = metadata["rope.scaling.original_context_length"]
        let given = try stated.exists ? stated.int(in: 0...1 << 30) : 0
        let original = given == 0 ? positions : given
        let kind = try kind()
        let scale = try scale(kind)
        let attention = metadata["rope.scaling.attn_factor"]
        let factor = try attention.exists ? attention.double() : 1
        let lists = try factors(kind, count: width / 2)
        guard kind != .yarn || theta != 1 else { throw base.error("1 is no base of yarn") }
        let scaling = Scaling(
            kind: kind, scale: scale, factor: factor, theta: theta, width: width, original: original,
            positions: positions)
        var found = [(key: "rope_theta", value: JSON.number(theta))]
        if architecture.family == "phi3" {
            found.append(("partial_rotary_factor", .number(Self.share(width, of: headWidth))))
            if stated.exists || lists != nil || !scaling.isPlain {
                found.append(("original_max_position_embeddings", .integer(Int64(original))))
            }
            if lists != nil || !scaling.isPlain {
                let ones = [Float](repeating: 1, count: width / 2)
                let (short, long) = lists ?? (ones, ones)
                found.append(("rope_scaling", try scaling.long(short, long, leavesUsual: true)))
            }
            return found
        }
        let form = try form(of: scaling, lists, stated: given)
        guard architecture.family == "gemma3_text" else { return found + (form.map { [("rope_scaling", $0)] } ?? []) }
        let local = metadata["rope.freq_base_swa"]
        let localTheta = try local.exists ? local.double() : 10_000
        guard hasWindows, scaling.windowedAttention != 1, case .object(let full)? = form else {
            return found + [("rope_local_base_freq", .number(localTheta))] + (form.map { [("rope_scaling", $0)] } ?? [])
        }
        var windowed = scaling
        (windowed.kind, windowed.scale, windowed.factor) = (.none, 1, scaling.windowedAttention)
        windowed.theta = localTheta
        let ones = [Float](repeating: 1, count: width / 2)
        guard case .object(let sliding) = try windowed.long(ones, ones) else { return found }
        let parameters: JSON = [
            "full_attention": .object(full + [JSON.Member("rope_theta", .number(theta))]),
            "sliding_attention": .object(sliding + [JSON.Member("rope_theta", .number(localTheta))]),
        ]
        return [("rope_parameters", parameters)]
    }

    private func rotatedWidth() throws -> Int {
        let count = metadata["rope.dimension_count"]
        guard count.exists else { return headWidth }
        let width = try count.int(in: 1...1 << 16)
        let isSupported = architecture.family == "phi3" ? width % 2 == 0 && width <= headWidth : width == headWidth
        guard isSupported else { throw metadata.unsupported(count, "heads have \(headWidth) elements") }
        return width
    }

    /// Returns the share of a head's elements that rounds down to a number of them.
    static func share(_ width: Int, of headWidth: Int) -> Double {
        let share = Double(width) / Double(headWidth)
        return Int(Double(headWidth) * share) < width ? share.nextUp : share
    }

    private func kind() throws -> Kind {
        let field = metadata["rope.scaling.type"]
        guard field.exists else { return .linear }
        guard let kind = Kind(rawValue: try field.string()) else {
            throw metadata.unsupported(field, "rotary embeddings are none, linear, yarn or longrope")
        }
        return kind
    }

    /// Returns the factor of positions, under its name or the one of early files.
    private func scale(_ kind: Kind) throws -> Double {
        let (new, old) = (metadata["rope.scaling.factor"], metadata["rope.scale_linear"])
        let field = new.exists ? new : old
        guard !new.exists || !old.exists || new.value == old.value else {
            throw metadata.unsupported(old, "it differs from rope.scaling.factor")
        }
        guard field.exists else { return 1 }
        let factor = try field.double()
        guard factor >= 0, factor < 1e12 else { throw field.error("\(factor) is outside of 0..<1e12") }
        return kind == .none || factor == 0 ? 1 : factor
    }

    /// Returns the factors of short and of long contexts.
    private mutating func factors(_ kind: Kind, count: Int) throws -> (short: [Float], long: [Float])? {
        let isPhi = architecture.name == "phi3"
        guard isPhi || architecture.name == "llama" else { return nil }
        guard isPhi || kind == .longrope else { return try floats("rope_freqs.weight", count).map { ($0, $0) } }
        let short = try floats("rope_factors_short.weight", count)
        let long = try floats("rope_factors_long.weight", count)
        guard short != nil || long != nil else { return nil }
        let ones = [Float](repeating: 1, count: count)
        return (short ?? ones, long ?? ones)
    }

    private mutating func floats(_ name: String, _ count: Int) throws -> [Float]? {
        guard let tensor = tensors[name] else { return nil }
        tensorsRead.insert(name)
        guard tensor.type == .float32, tensor.shape.count == count else {
            throw FormatError(
                file: metadata.file.path, location: .tensor(name, index: nil),
                reason: "expected \(count) elements of type F32")
        }
        return StoredTensor(name: name, elementType: .float32, shape: tensor.shape, bytes: tensor.bytes).floats()
    }

    /// Returns the scaling as the kind of checkpoints that computes the same, or else factor by factor; nil for none.
    private func form(of scaling: Scaling, _ lists: (short: [Float], long: [Float])?, stated: Int) throws -> JSON? {
        if let (short, long) = lists {
            if scaling.isPlain, short == long, let llama3 = try llama3(short, scaling, original: stated) {
                return llama3
            }
            return try scaling.long(short, long)
        }
        switch scaling.kind {
        case _ where scaling.isPlain: return nil
        case .yarn: return scaling.yarn
        case _ where scaling.factor == 1: return ["rope_type": "linear", "factor": .number(scaling.scale)]
        default:
            let ones = [Float](repeating: 1, count: scaling.width / 2)
            return try scaling.long(ones, ones)
        }
    }

    /// Returns the numbers from which the factors of Llama 3.1 follow; nil for other factors.
    private func llama3(_ factors: [Float], _ scaling: Scaling, original: Int) throws -> JSON? {
        let form: JSON = [
            "rope_type": "llama3", "factor": .number(Double(factors.max() ?? 1)), "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": .integer(Int64(original == 0 ? 8192 : original)),
        ]
        let file = metadata.file.path
        let (parsed, whole) = (JSONField(form, file: file), JSONField(.object([]), file: file))
        let expected = try GGUFRotary.llama3(parsed, whole, theta: scaling.theta, width: scaling.width)
        guard expected == factors else { return nil }
        return form
    }

    /// The scaling of one rotary embedding.
    private struct Scaling {
        var kind: Kind
        /// Positions are divided by it.
        var scale: Double
        /// The factor of cosine and sine, without that of yarn.
        var factor: Double
        var theta: Double
        let width: Int
        /// The number of positions before the context was extended.
        let original: Int
        let positions: Int

        var isPlain: Bool { kind != .yarn && scale == 1 && factor == 1 }

        private var growth: Double { scale <= 1 ? 1 : 0.1 * log(scale) + 1 }

        private var attention: Double { kind == .yarn ? factor * growth : factor }

        /// The factor of cosine and sine of layers that are not scaled: llama.cpp divides by yarn's factor, and multiplies with that of
        /// the layer's own scale.
        var windowedAttention: Double { kind == .yarn ? factor * growth / (1 + 0.1 * log(scale)) : factor }

        var yarn: JSON {
            let members = [
                JSON.Member("rope_type", "yarn"), JSON.Member("factor", .number(scale)),
                JSON.Member("original_max_position_embeddings", .integer(Int64(original))),
            ]
            return .object(factor == 1 ? members : members + [JSON.Member("attention_factor", .number(attention))])
        }

        /// Returns the factors of all pairs, one by one.
        /// - Parameter leavesUsual: without the factor of attention where the family computes the same.
        func long(_ short: [Float], _ long: [Float], leavesUsual: Bool = false) throws -> JSON {
            func list(_ factors: [Float]) -> JSON {
                .array(factors.enumerated().map { GGUFValue.float32(Float(Double($1) * divisor(ofPair: $0))).json })
            }
            var members = [
                JSON.Member("rope_type", "longrope"), JSON.Member("long_factor", list(long)),
                JSON.Member("short_factor", list(short)),
            ]
            let usual = GGUFRotary.longAttention(Double(positions) / Double(original), original)
            if leavesUsual {
                if Float(usual) != Float(attention) {
                    members.append(JSON.Member("attention_factor", .number(attention)))
                }
                return .object(members)
            }
            members += [
                JSON.Member("factor", 1.0), JSON.Member("attention_factor", .number(attention)),
                JSON.Member("original_max_position_embeddings", .integer(Int64(original))),
            ]
            return .object(members)
        }

        /// Returns by how much the frequency of a pair is divided (YaRN, Peng et al., 2023).
        private func divisor(ofPair pair: Int) -> Double {
            guard kind == .yarn else { return scale }
            func index(rotating rotations: Double) -> Double {
                Double(width) * log(Double(original) / (rotations * 2 * .pi)) / (2 * log(theta))
            }
            let low = max(index(rotating: 32).rounded(.down), 0)
            let high = min(index(rotating: 1).rounded(.up), Double(width - 1))
            let kept = 1 - min(max((Double(pair) - low) / max(high - low, 0.001), 0), 1)
            return 1 / ((1 - kept) / scale + kept)
        }
    }
}
