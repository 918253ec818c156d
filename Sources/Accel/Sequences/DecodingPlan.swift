import AccelByteIO
package import AccelCPURuntime
import AccelPrograms
package import AccelTensors

/// The runs of a decoder's functions on a sequence of tokens, block by block: a long block first (prefill), then
/// shorter ones (decode steps of one token), over one shared key/value cache.
///
/// The tokens are an I64[batch, count] tensor, or one of narrower integers, with the name of the functions' token input. The position of
/// each block is computed, and counts from the given position if there is one. Tensors with the name of a state are its initial
/// value; the others are inputs, the same for each block. If the decoder reads states that are made from an encoder's
/// outputs, and the encoder's inputs or its outputs are given, the functions that make them run first.
package struct DecodingPlan: Sendable {
    /// The number of tokens in a row.
    package let count: Int
    /// The position of the first token.
    package let start: Int
    let tokens: StoredTensor
    /// The inputs that take tokens and the position of the first one.
    let ports: (tokens: String, position: String)
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

        /// The blocks that functions up to a length take; the first token is at position `start`.
        func blocks(upTo longest: Int, from start: Int) -> TokenBlocks {
            TokenBlocks(feeds.map(\.taker).filter { $0.length <= longest }, capacity: capacity - start) {
                $0.hasRowsOnly
            }
        }
    }

    /// - Parameter tensors: by name.
    /// - Returns: nil when no function takes blocks of tokens that are among the tensors.
    package init?(_ program: ModelPlan, _ tensors: [String: StoredTensor]) {
        let feeds = program.functions.indices.compactMap { TokenFeed($0, of: program, tensors) }
        guard let first = feeds.first?.taker, let tokens = tensors[first.tokens.name] else { return nil }
        self.program = program
        self.tokens = tokens
        ports = (first.tokens.name, first.position.name)
        count = tokens.shape.dimensions[1]
        let stated = tensors[first.position.name].flatMap { $0.holdsIndices ? $0.integers().first : nil }
        let start = stated.map { Int(max(-1, min($0, 1 << 40))) } ?? 0
        self.start = start
        let ofTokens = feeds.filter { $0.taker.tokens.name == first.tokens.name }
        caches = TokenFunction.sharing(ofTokens.map(\.taker)).map { sharing in
            let states = Set(program.functions[sharing[0].index].states)
            return Cache(
                feeds: sharing.compactMap { taker in ofTokens.first { $0.function == taker.index } },
                capacity: sharing.map(\.capacity).min() ?? 0, states: states,
                seeds: states.compactMap { state in
                    tensors[state.name]?.seed(
                        of: state, role: program.functions[sharing[0].index].interface.role(of: state.name, .state),
                        before: start)
                }.sorted { $0.name < $1.name })
        }
        before = Self.encoding(program, tensors)
        given = tensors
    }

    /// Returns the steps before a decoder that reads states of an encoder: the encoder, which the tensors feed, and the
    /// function that makes the states from its outputs, or that function alone where the outputs are given.
    package static func encoding(_ program: ModelPlan, _ tensors: [String: StoredTensor]) -> [RunStep] {
        func fits(_ port: FrozenProgram.Port) -> Bool {
            tensors[port.name]?.fitting(port) != nil
        }
        for (other, crossFunction) in program.functions.enumerated()
        where crossFunction.interface.role == .crossKeysAndValues {
            guard let link = crossFunction.interface.links.first, crossFunction.inputs.count == 1,
                let port = crossFunction.inputs.first,
                port.name == link.input
            else { continue }
            if let hidden = tensors[port.name]?.fitting(port) {
                return [RunStep(function: other, inputs: [port.name: hidden])]
            }
            let encoder = program.functions.firstIndex { encoder in
                encoder.part == link.part && encoder.inputs.allSatisfy(fits)
                    && encoder.outputs.contains { $0.name == link.output && $0.operand.shape == port.shape }
            }
            guard let encoder else { continue }
            let inputs = program.functions[encoder].inputs.reduce(into: [:]) {
                $0[$1.name] = tensors[$1.name]?.fitting($1)
            }
            var kept = RunStep(function: other, inputs: [:])
            kept.carried = [link.input: link.output]
            return [RunStep(function: encoder, inputs: inputs), kept]
        }
        return []
    }

    /// The cross-attention function, which makes states for the decoder before it runs; nil if there is none.
    private var crossFunction: FunctionPlan? {
        before.last.map { program.functions[$0.function] }.flatMap {
            $0.interface.role == .crossKeysAndValues ? $0 : nil
        }
    }

    /// Whether the decoders of a cache read an encoder's states in the shapes in which they are made: a package may have several windows.
    private func readsWhatIsMade(_ cache: Cache) -> Bool {
        guard let crossFunction else { return true }
        let made = Dictionary(crossFunction.states.map { ($0.name, $0.shape) }) { first, _ in first }
        return cache.feeds.flatMap { program.functions[$0.function].states(.crossAttention) }
            .allSatisfy { made[$0.name] == nil || made[$0.name] == $0.shape }
    }

    /// Whether a function takes blocks of the tokens.
    func takesTokens(_ function: Int) -> Bool { caches.contains { $0.feeds.contains { $0.function == function } } }

    /// All tokens in blocks of these lengths; nil when no cache has functions for them.
    package func steps(inBlocksOf lengths: [Int]) -> [RunStep]? {
        let cache = caches.filter(readsWhatIsMade).first { cache in
            start >= 0 && cache.capacity >= start + count && lengths.allSatisfy { cache.feed($0) != nil }
        }
        var blocks: [TokenBlocks.Block] = []
        for length in lengths {
            let first = blocks.last?.tokens.upperBound ?? 0
            blocks.append(TokenBlocks.Block(length: length, first: first, tokens: first..<first + length))
        }
        guard let cache, blocks.last?.tokens.upperBound ?? 0 == count else { return nil }
        return steps(blocks, in: cache)
    }

    /// All tokens in the longest blocks that there are functions for: a prefill, then steps, as `TokenBlocks` chooses them. Of the
    /// caches that take all tokens and the given states it takes one with steps of one token, with the fewest runs, and then the shortest.
    /// - Parameters:
    ///   - first: the function that takes the first block; it decides the cache.
    ///   - more: how many tokens are to be generated after them.
    /// - Returns: the steps, and the function that takes one more token at a time where there is one.
    /// - Throws: `RequestError`: for blocks that do not add up, for a cache that is too short, for states that nothing
    ///   sets, for tensors that nothing reads.
    func longestSteps(first: Int?, generating more: Int, file: String) throws -> ([RunStep], TokenFeed?) {
        try rejectUnread(file)
        guard count > 0 else { throw RequestError("\(file): \"\(tokens.name)\" has no tokens") }
        guard start >= 0 else {
            throw RequestError("\(file): the position of the first token is negative")
        }
        try requireEarlierTokens(file)
        let needed = start + count + max(more - 1, 0)
        let fitting = try agreeing(first, file).compactMap { cache -> (cache: Cache, blocks: [TokenBlocks.Block])? in
            guard cache.capacity >= needed, first == nil || cache.feeds.contains(where: { $0.function == first }),
                more == 0 || cache.feed(1) != nil
            else { return nil }
            return blocks(in: cache, first: first).map { (cache, $0) }
        }
        func cost(_ choice: (cache: Cache, blocks: [TokenBlocks.Block])) -> [Int] {
            [
                unfit(in: choice.cache).count, choice.cache.feed(1) == nil ? 1 : 0, choice.blocks.count,
                choice.cache.capacity,
            ]
        }
        guard let best = fitting.min(by: { cost($0).lexicographicallyPrecedes(cost($1)) }),
            let steps = steps(best.blocks, in: best.cache)
        else { throw doesNotFit(file, needed: needed, generating: more) }
        try requireStates(of: best.cache, file)
        try requireFitting(best.cache, file)
        return (steps, best.cache.feed(1))
    }

    /// Whether there is a function for one token.
    package var hasSteps: Bool { caches.contains { $0.feed(1) != nil } }

    /// All tokens in the longest blocks, as `run` takes them.
    /// - Throws: `RequestError` as `run` does.
    package func steps(file: String) throws -> [RunStep] { try longestSteps(first: nil, generating: 0, file: file).0 }

    /// The same, and a step of one token in each row behind them.
    package func steps(followedBy last: [Int64], file: String) throws -> [RunStep] {
        let (steps, feed) = try longestSteps(first: nil, generating: 2, file: file)
        guard let feed, let end = steps.last?.positions?.upperBound else { return steps }
        return steps + [feed.step(last, at: end)]
    }

    /// The caches whose decoders read what is made for them; that of the first function, if it is asked for.
    /// - Throws: `RequestError` if there are none, or if the first function reads other sizes.
    private func agreeing(_ first: Int?, _ file: String) throws -> [Cache] {
        let own = caches.filter { cache in first == nil || cache.feeds.contains { $0.function == first } }
        let agreeing = own.filter(readsWhatIsMade)
        guard agreeing.isEmpty, let crossFunction, let cache = own.first, let feed = cache.feeds.first else {
            return agreeing
        }
        let others = caches.filter(readsWhatIsMade).flatMap(\.feeds).map { program.functions[$0.function].name }
        throw RequestError(
            "\(file): \(program.functions[feed.function].name) reads an encoder's states of other sizes than \(crossFunction.name) makes of these "
                + "inputs", code: others.isEmpty ? nil : .functionNotChosen, candidates: others)
    }

    /// Blocks of all tokens; after a first one that is asked for, none is longer than it.
    private func blocks(in cache: Cache, first: Int?) -> [TokenBlocks.Block]? {
        guard let first else { return cache.blocks(upTo: .max, from: start).covering(0..<count) }
        guard let length = cache.feeds.first(where: { $0.function == first })?.length else { return nil }
        let blocks = cache.blocks(upTo: length, from: start)
        // Too few tokens for it: shorter functions over its cache.
        guard length <= count else { return blocks.covering(0..<count) }
        let block = TokenBlocks.Block(length: length, first: 0, tokens: 0..<length)
        return blocks.covering(length..<count).map { [block] + $0 }
    }

    private func steps(_ blocks: [TokenBlocks.Block], in cache: Cache) -> [RunStep]? {
        let (all, rows) = (tokens.integers(), tokens.shape.dimensions[0])
        var steps = before
        for block in blocks {
            guard let feed = cache.feed(block.length) else { return nil }
            let given = min(block.length, count - block.first)
            let taken = (0..<rows).flatMap { row -> [Int64] in
                let first = row * count + block.first
                // The end of a block that is longer than the rest holds any token.
                return Array(all[first..<first + given]) + Array(repeating: 0, count: block.length - given)
            }
            var step = feed.step(taken, at: start + block.first)
            step.positions = start + block.tokens.lowerBound..<start + block.tokens.upperBound
            step.rows = block.isExact ? nil : block.rows
            steps.append(step)
        }
        if !steps.isEmpty { steps[0].states = cache.seeds }
        return steps
    }
}

// MARK: - Rejected requests

extension DecodingPlan {
    private func doesNotFit(_ file: String, needed: Int, generating more: Int) -> RequestError {
        let feeding = caches.flatMap(\.feeds).map(\.function)
        if let limit = feeding.compactMap({ program.graph[$0].program.positionLimit }).min(), needed > limit {
            return RequestError(
                "\(file): \(Wording.count(count, "token")) of \"\(tokens.name)\" from position \(start) and \(more) to generate need "
                    + "\(needed) positions, and the model has \(limit), those of its position embeddings")
        }
        let offered = caches.map { cache in
            "blocks of \(cache.feeds.map { "\($0.length)" }.joined(separator: " or ")) into a cache of \(cache.capacity)"
        }
        let generated = more == 0 ? "" : " and \(more) to generate, one by one,"
        return RequestError(
            "\(file): \(Wording.count(count, "token")) of \"\(tokens.name)\"\(start == 0 ? "" : " from position \(start)")\(generated) \(count == 1 && more == 0 ? "needs" : "need") "
                + "a cache of \(needed) positions, and blocks of tokens that make them up; the package takes \(offered.joined(separator: "; "))",
            code: .shapesDoNotFit, candidates: shapes(cache: max(needed, caches.map(\.capacity).max() ?? 0)))
    }

    /// The shapes of a package whose cache is long enough.
    private func shapes(cache: Int) -> [String] {
        let feeds = caches.flatMap(\.feeds)
        let own = feeds.first.map { program.functions[$0.function].bindings.numbers } ?? [:]
        let decoding = Set(feeds.map(\.length)).union([1]).sorted(by: >).map { length in
            own.merging(["batch": tokens.shape.dimensions[0], "tokens": length, "cache": cache]) { $1 }
        }
        // Of other parts, such as an encoder, those that the decoder's do not complete.
        let others = program.functions.map(\.bindings.numbers).filter { !$0.keys.allSatisfy { own[$0] != nil } }
        return (decoding + Set(others).sorted { "\($0)" < "\($1)" }).map { "\(ShapeBindings($0))" }
    }

    /// The given tensors that have the name of a state of a cache, and another type or shape.
    private func unfit(in cache: Cache) -> [(state: FrozenProgram.State, tensor: StoredTensor)] {
        cache.states.sorted { $0.name < $1.name }.compactMap { state in
            guard let tensor = given[state.name], !cache.seeds.contains(where: { $0.name == state.name }) else {
                return nil
            }
            return (state, tensor)
        }
    }

    /// A state that is given has to be used; and caches that hold tokens already need the position of the next one.
    private func requireFitting(_ cache: Cache, _ file: String) throws {
        guard let feed = cache.feeds.first else { return }
        let function = program.functions[feed.function]
        if let (state, tensor) = unfit(in: cache).first {
            throw FunctionInputs([], file: file).mismatch(
                "state \"\(state.name)\" of \(function.name)", expected: state.port.typeText, found: tensor.typeText)
        }
        guard given[feed.taker.position.name] == nil else { return }
        let caching = Set(function.states(.keyValueCache).map(\.name))
        if let state = cache.seeds.first(where: { caching.contains($0.name) }) {
            throw RequestError(
                "\(file): \"\(feed.taker.position.name)\" is missing, the number of earlier tokens in the state \"\(state.name)\", I64[1]"
            )
        }
    }

    /// Tokens from a later position on would read caches of zeros as those of the tokens before them.
    private func requireEarlierTokens(_ file: String) throws {
        guard start > 0 else { return }
        let names = caches.flatMap { cache in
            cache.feeds.flatMap { program.functions[$0.function].states(.keyValueCache).map(\.name) }
        }
        guard !names.isEmpty, !caches.contains(where: { $0.seeds.contains { names.contains($0.name) } }) else { return }
        throw RequestError(
            "\(file): \"\(ports.position)\" is \(start), and the file has no caches of the \(Wording.count(start, "token")) before, such as "
                + "\"\(names[0])\"", code: .statesMissing)
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
        let origin = sources.isEmpty ? "" : ", and which is made from \(sources.joined(separator: ", "))"
        throw RequestError(
            "\(file): \(program.functions[reader.function].name) reads the state \"\(missing)\", which nothing sets\(origin)"
        )
    }

    private func rejectUnread(_ file: String) throws {
        var read = Set(before.flatMap(\.inputs.keys)).union(caches.flatMap(\.feeds).flatMap(\.held.keys))
        for feed in caches.flatMap(\.feeds) { read.formUnion([feed.taker.tokens.name, feed.taker.position.name]) }
        read.formUnion(caches.flatMap(\.seeds).map(\.name))
        for (name, tensor) in given.sorted(by: { $0.key < $1.key }) where !read.contains(name) {
            let expected = program.functions.flatMap(\.givenPorts).filter { $0.name == name }.map(\.typeText).distinct
                .sorted()
            guard !expected.isEmpty else {
                throw RequestError("\(file): \(FunctionInputs.unknown(name, among: given, of: program.functions))")
            }
            guard expected == [tensor.typeText] else {
                let takers = program.functions.filter { $0.inputs.contains { $0.name == name } }
                throw FunctionInputs(given.map { $1.renamed($0) }, file: file).mismatch(
                    "\"\(name)\"", expected: expected.joined(separator: " or "), found: tensor.typeText, for: takers)
            }
            if let crossFunction = before.first,
                program.functions[crossFunction.function].interface.role == .crossKeysAndValues,
                let hidden = crossFunction.inputs.keys.first
            {
                throw RequestError("\(file): \"\(name)\" and \"\(hidden)\", which is made from it, are both given")
            }
            // It fits an encoder, whose outputs nothing passes on to the decoder.
            throw RequestError(
                "\(file): no function makes the decoder's states from \"\(name)\": the package has "
                    + program.functions.map(\.name).joined(separator: ", "))
        }
    }
}

extension StoredTensor {
    /// The initial value of a state; nil if the tensor has another type or shape. A cache of fewer positions is continued in a longer
    /// one if it has all positions before `start`: the others are zeros, which no token reads before one writes them.
    fileprivate func seed(of state: FrozenProgram.State, role: Role, before start: Int) -> StoredTensor? {
        guard elementType == state.elementType else { return nil }
        if shape == state.shape { return renamed(state.name) }
        guard role.kind == .keyValueCache, let axis = role.integer("axis"), shape.rank == state.shape.rank else {
            return nil
        }
        let (held, length) = (shape.dimensions[axis], state.shape.dimensions[axis])
        var dimensions = shape.dimensions
        dimensions[axis] = length
        guard Shape(dimensions) == state.shape, (start...length).contains(held) else { return nil }
        return zeroPadded(along: axis, to: length).renamed(state.name)
    }
}
