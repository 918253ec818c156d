import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Tensors that need not be read by any function, because the user asked for that.
struct IgnoredTensors {
    private let globs: [(text: String, glob: Glob)]

    /// - Throws: `RequestError` for an invalid pattern.
    init(_ patterns: [String]) throws {
        globs = try patterns.map { text in
            guard let glob = Glob(text) else {
                throw RequestError("\(quoted(text)) is not a valid pattern of tensor names")
            }
            return (text, glob)
        }
    }

    /// Returns the first pattern that a name matches.
    func pattern(for name: String) -> String? { globs.first { $0.glob.matches(name) }?.text }

    /// Returns the patterns that match one of `names`, and those that match none.
    func sorted(by names: [String]) -> (fitting: [String], idle: [String]) {
        let fits = globs.map { names.contains(where: $0.glob.matches) }
        let texts = globs.map(\.text)
        return (zip(texts, fits).filter(\.1).map(\.0), zip(texts, fits).filter { !$0.1 }.map(\.0))
    }
}

extension TensorNames {
    /// The decision about a tensor that no function reads.
    enum Verdict {
        /// It may stay unused, for this reason.
        case explained(Reason)
        /// Without it, the model would have another meaning.
        case rejected(Rejection)
    }
    /// Why a tensor must not stay unused. The most serious reason comes first.
    enum Rejection: Hashable, Comparable {
        /// It changes the meaning of other tensors.
        case companion(kind: String)
        /// The functions read the weight of the same module, but no bias.
        case bias
        case unknown

        var reason: String {
            switch self {
            case .companion(let kind): "it belongs to \(kind), which are not supported"
            case .bias: "the weight beside it is read, but the configuration has no such bias"
            case .unknown: "the architecture has no tensor of this name"
            }
        }
    }

    /// Returns the decision about a tensor.
    /// - Parameter name: a tensor of the checkpoint that no function reads.
    func verdict(on name: String) -> Verdict {
        if let original = origins.copies.first(where: { $0.value.contains(name) })?.key {
            return .explained(Reason(text: "equal to \(original), which is used in its place"))
        }
        let companion = CompanionTensors.match(name)
        if let companion, reads(companion.owner) {
            return .rejected(.companion(kind: companion.kind.name))
        }
        if name.hasSuffix(".bias"), reads(String(name.dropLast(".bias".count))) { return .rejected(.bias) }
        if let head = leftOutHead, isBeside(name) {
            return .explained(Reason(text: "belongs to the head of \(head), which is left out"))
        }
        if let reason = explanation(of: name) { return .explained(reason) }
        guard let companion else { return .rejected(.unknown) }
        return .rejected(.companion(kind: companion.kind.name))
    }

    /// Returns whether a tensor stands outside of the base model, whose tensors have a prefix.
    private func isBeside(_ name: String) -> Bool {
        !prefixes.contains(where: name.hasPrefix)
            && used.allSatisfy { used in prefixes.contains { used.hasPrefix($0) } }
    }

    /// Returns whether the functions read a tensor, or the weight of a module.
    private func reads(_ owner: String) -> Bool {
        ["", ".weight", ".weight_v", ".parametrizations.weight.original1"].contains { used.contains(owner + $0) }
    }

    /// Returns all unused tensors with their reasons; those that must not stay unused are in `rejected`, too.
    func account(ignoring ignored: IgnoredTensors) -> (
        unused: [UnusedTensor], rejected: [(name: String, rejection: Rejection)]
    ) {
        var unused: [UnusedTensor] = []
        var rejected: [(name: String, rejection: Rejection)] = []
        for name in checkpoint.tensors.map(\.name) where !used.contains(name) {
            switch (verdict(on: name), ignored.pattern(for: name)) {
            case (_, let pattern?):
                unused.append(.init(name: name, reason: "left out by the pattern \(pattern)", isExpected: true))
            case (.explained(let reason), nil):
                unused.append(.init(name: name, reason: reason.text, isExpected: reason.isExpected))
            case (.rejected(let rejection), nil):
                unused.append(.init(name: name, reason: "\(rejection.reason): convert rejects it"))
                rejected.append((name, rejection))
            }
        }
        return (unused, rejected)
    }

    /// Returns the error for the most serious of the rejections.
    func error(for rejected: [(name: String, rejection: Rejection)]) -> RequestError? {
        guard let worst = rejected.map(\.rejection).min() else { return nil }
        let names = rejected.filter { $0.rejection == worst }.map(\.name)
        let more = names.count == 1 ? "" : " and \(names.count - 1) more"
        let sentence = "\(checkpoint.folder): no function reads the tensor \"\(names[0])\"\(more): \(worst.reason)"
        guard case .companion = worst else {
            return RequestError(sentence, status: .unavailable, code: .unusedTensor, candidates: [names[0]])
        }
        return RequestError(sentence, status: .unavailable, code: .unsupportedCheckpoint)
    }

    /// Returns a better error for a weight that is missing or has another shape or type because the checkpoint is
    /// quantized.
    /// - Parameter error: the original error about the weight.
    func rejection(insteadOf error: FormatError) -> RequestError? {
        guard case .tensor(let weight, _)? = error.location else { return nil }
        func module(of name: String) -> String {
            name.hasSuffix(".weight") ? String(name.dropLast(".weight".count)) : name
        }
        let wanted = module(of: weight)
        for name in checkpoint.tensors.map(\.name) {
            guard let (kind, owner) = CompanionTensors.match(name), !owner.isEmpty,
                ".\(module(of: owner))".hasSuffix(".\(wanted)")
            else { continue }
            return self.error(for: [(name, .companion(kind: kind.name))])
        }
        return nil
    }
}
