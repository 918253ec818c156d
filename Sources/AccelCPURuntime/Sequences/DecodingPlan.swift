import AccelByteIO
import AccelPrograms
public import AccelTensors

/// The runs of a decoder's functions on a sequence of tokens, block by block: a long block first (prefill), then
/// shorter ones (decode steps of one token), over one shared key/value cache.
///
/// The tokens are an I64[batch, count] tensor with the name of the functions' token input. The position of each block
/// is computed, and counts from the given position if there is one. Tensors with the name of a state are its initial
/// value; the others are inputs, the same for each block. If the decoder reads states that are made from an encoder's
/// outputs, and the encoder's inputs are given, the functions that make them run first.
public struct DecodingPlan: Sendable {
    /// The number of tokens in a row.
    public let count: Int
    /// The position of the first token.
    public let start: Int
    let tokens: StoredTensor
    private let program: ModelPlan
    private let caches: [Cache]
    /// The steps before the decoder.
    private let before: [RunStep]
    private let given: [String: StoredTensor]

    /// Functions that share a cache, the one with the longest blocks first.
    private struct Cache {
        let feeds: [TokenFeed]
        let capacity: Int
        let states: Set<FrozenProgram.State>
        /// The initial values of states.
        let seeds: [StoredTensor]

        func feed(_ length: Int) -> TokenFeed? { feeds.first { $0.length == length } }
    }

    /// - Parameter tensors: by name.
    /// - Returns: nil when no function takes blocks of tokens that are among the tensors.
    public init?(_ program: ModelPlan, _ tensors: [String: StoredTensor]) {
        let feeds = program.functions.indices.compactMap { TokenFeed($0, program.functions[$0], tensors) }
        guard let first = feeds.first, let tokens = tensors[first.tokens] else { return nil }
        self.program = program
        self.tokens = tokens
        count = tokens.shape.dimensions[1]
        let stated = tensors[first.position].flatMap { $0.elementType == .int64 ? $0.integers().first : nil }
        start = stated.map { Int(max(-1, min($0, 1 << 40))) } ?? 0
        var caches: [Cache] = []
        for feed in feeds where feed.tokens == first.tokens && !caches.contains(where: { $0.states == feed.states }) {
            let sharing = feeds.filter { $0.states == feed.states && $0.tokens == first.tokens }
            caches.append(
                Cache(
                    feeds: sharing.sorted { $0.length > $1.length }, capacity: sharing.map(\.capacity).min() ?? 0,
                    states: feed.states,
                    seeds: feed.states.compactMap { state in
                        tensors[state.name].flatMap {
                            $0.elementType == state.elementType && $0.shape == state.shape
                                ? $0.renamed(state.name) : nil
                        }
                    }.sorted { $0.name < $1.name }))
        }
        self.caches = caches
        before = Self.encoding(program, tensors)
        given = tensors
    }

    /// Returns the steps before a decoder that reads states of an encoder: the encoder, which the tensors feed, and the
    /// function that makes the states from its outputs.
    private static func encoding(_ program: ModelPlan, _ tensors: [String: StoredTensor]) -> [RunStep] {
        func fits(_ port: FrozenProgram.Port) -> Bool {
            tensors[port.name].map { $0.elementType == port.elementType && $0.shape == port.shape } ?? false
        }
        for (other, keeper) in program.functions.enumerated() where keeper.interface.role == .crossKeysAndValues {
            guard let link = keeper.interface.links.first, keeper.inputs.count == 1, let port = keeper.inputs.first,
                port.name == link.input, !fits(port)
            else { continue }
            let encoder = program.functions.firstIndex { encoder in
                encoder.part == link.part && encoder.inputs.allSatisfy(fits)
                    && encoder.outputs.contains { $0.name == link.output && $0.operand.shape == port.shape }
            }
            guard let encoder else { continue }
            let inputs = program.functions[encoder].inputs.reduce(into: [:]) { $0[$1.name] = tensors[$1.name] }
            var kept = RunStep(function: other, inputs: [:])
            kept.carried = [link.input: link.output]
            return [RunStep(function: encoder, inputs: inputs), kept]
        }
        return []
    }

    /// All tokens in blocks of these lengths; nil when no cache has functions for them.
    public func steps(inBlocksOf lengths: [Int]) -> [RunStep]? {
        let cache = caches.first { cache in
            start >= 0 && cache.capacity >= start + count && lengths.allSatisfy { cache.feed($0) != nil }
        }
        return cache.flatMap { steps(lengths, in: $0) }
    }

    /// All tokens in the longest blocks that there are functions for, each as long as it can be: a prefill, then steps. Of
    /// several caches it takes the longest one that has steps of one token, else the longest.
    /// - Parameters:
    ///   - first: the function that takes the first block; it decides the cache.
    ///   - more: how many tokens are to be generated after them.
    /// - Returns: the steps, and the function that takes one more token at a time where there is one.
    /// - Throws: `RequestError`: for blocks that do not add up, for a cache that is too short, for states that nothing
    ///   sets, for tensors that nothing reads.
    func longestSteps(first: Int?, generating more: Int, file: String) throws -> ([RunStep], TokenFeed?) {
        try refuseUnread(file)
        guard start >= 0 else {
            throw RequestError("\(file): the position of the first token is negative")
        }
        let needed = start + count + max(more - 1, 0)
        let fitting = caches.filter { cache in
            cache.capacity >= needed && (first == nil || cache.feeds.contains { $0.function == first })
                && (more == 0 || cache.feed(1) != nil) && lengths(in: cache, first: first) != nil
        }
        let best = fitting.max { left, right in
            let (steps, others) = (left.feed(1) != nil, right.feed(1) != nil)
            return steps == others ? left.capacity < right.capacity : others
        }
        guard let best, let lengths = lengths(in: best, first: first), let steps = steps(lengths, in: best) else {
            throw doesNotFit(file, needed: needed, generating: more)
        }
        try requireStates(of: best, file)
        return (steps, best.feed(1))
    }

    /// Block lengths that add up to all tokens.
    private func lengths(in cache: Cache, first: Int?) -> [Int]? {
        var (left, lengths) = (count, [Int]())
        if let first {
            guard let feed = cache.feeds.first(where: { $0.function == first }), feed.length <= left else { return nil }
            lengths.append(feed.length)
            left -= feed.length
        }
        for feed in cache.feeds where feed.length > 0 {
            lengths += Array(repeating: feed.length, count: left / feed.length)
            left %= feed.length
        }
        return left == 0 ? lengths : nil
    }

    private func steps(_ lengths: [Int], in cache: Cache) -> [RunStep]? {
        let (all, rows) = (tokens.integers(), tokens.shape.dimensions[0])
        var (steps, cursor) = (before, 0)
        for length in lengths {
            guard let feed = cache.feed(length), cursor + length <= count else { return nil }
            let block = (0..<rows).flatMap { all[$0 * count + cursor..<$0 * count + cursor + length] }
            steps.append(feed.step(block, at: start + cursor))
            cursor += length
        }
        if !steps.isEmpty { steps[0].states = cache.seeds }
        return cursor == count ? steps : nil
    }
}

// MARK: - Refusals

extension DecodingPlan {
    private func doesNotFit(_ file: String, needed: Int, generating more: Int) -> RequestError {
        let offered = caches.map { cache in
            "blocks of \(cache.feeds.map { "\($0.length)" }.joined(separator: " or ")) into a cache of \(cache.capacity)"
        }
        let generated = more == 0 ? "" : " and \(more) to generate, one by one"
        return RequestError(
            "\(file): the \(count) tokens of \"\(tokens.name)\"\(start == 0 ? "" : " from position \(start)")\(generated) need "
                + "\(needed) positions and blocks that add up; the package takes \(offered.joined(separator: "; ")); "
                + "convert with --shape ...,tokens=1,cache=\(needed) too")
    }

    /// A decoder whose states of an encoder are not there would run on zeros.
    private func requireStates(of cache: Cache, _ file: String) throws {
        var set = Set(cache.seeds.map(\.name))
        for function in before.map(\.function) where program.functions[function].interface.role == .crossKeysAndValues {
            set.formUnion(program.functions[function].states.map(\.name))
        }
        let reading = cache.feeds.flatMap { program.functions[$0.function].states(.crossAttention).map(\.name) }
        guard let missing = reading.sorted().first(where: { !set.contains($0) }), let reader = cache.feeds.first
        else { return }
        let links = program.functions.filter { function in
            function.interface.role == .crossKeysAndValues && function.states.contains { $0.name == missing }
        }.flatMap(\.interface.links)
        let sources = program.functions.filter { function in links.contains { $0.part == function.part } }
            .flatMap(\.inputs).map { "\"\($0.name)\" \($0.typeText)" }
        let hint = sources.isEmpty ? "" : ", or \(sources.joined(separator: ", "))"
        throw RequestError(
            "\(file): \(program.functions[reader.function].name) reads the state \"\(missing)\", which nothing sets; "
                + "give a tensor of that name\(hint)")
    }

    private func refuseUnread(_ file: String) throws {
        var read = Set(before.flatMap(\.inputs.keys)).union(caches.flatMap(\.feeds).flatMap(\.held.keys))
        for feed in caches.flatMap(\.feeds) { read.formUnion([feed.tokens, feed.position]) }
        read.formUnion(caches.flatMap(\.seeds).map(\.name))
        for (name, tensor) in given.sorted(by: { $0.key < $1.key }) where !read.contains(name) {
            let ports = program.functions.flatMap { $0.inputs + $0.states.map(\.port) }
            let expected = Set(ports.filter { $0.name == name }.map(\.typeText)).sorted()
            let found = "\(tensor.elementType.rawValue)\(tensor.shape)"
            guard expected.isEmpty else {
                throw RequestError(
                    "\(file): \"\(name)\": expected \(expected.joined(separator: " or ")), found \(found)")
            }
            let hint = suggestion(for: name, among: ports.map(\.name))
            throw RequestError("\(file): no function has an input or state \"\(name)\"\(hint)")
        }
    }
}
