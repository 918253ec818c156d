import Accel
import AccelCPURuntime
import AccelCalibration
import AccelPrograms
import AccelTensors
import AccelWeightCompression

extension ProgramStages {
    /// The multiply-adds above which losses are estimated: about ten seconds of two processors.
    private static let mostWork = 2e11

    /// The most runs over samples for each measurement.
    private static let mostRuns = 8

    /// The ranking of the weights, and what it was measured on.
    struct Losses {
        var ranked: [WeightLoss] = []
        /// The number of runs that the losses were measured on, and that of the function's; nil for estimates.
        var runs: (measured: Int, count: Int)?
        /// The function whose inputs were drawn, although there is a file; nil if none were.
        var drawn: String?
        /// The tokens that a decoder's function takes of each text, where texts have more; nil where it takes all.
        var tokens: Int?
    }

    /// Measures what each lossy weight costs the outputs if all others are the model's: in the function with the most positions that
    /// reads it, from empty states, over evenly spaced samples. For a large model the losses are those of the calls that the operator
    /// stage has compared.
    /// - Returns: the largest loss first; empty if nothing is lost, or if there is neither time for it nor an operator stage.
    func losses() throws -> Losses {
        guard let model, !lossy.isEmpty else { return Losses() }
        let stored = program.weights.filter { lossy.contains($0.name) && model.weights[$0.name] != nil }
        let functions = program.functions.indices.compactMap { index in
            (model.withOwnStates?[index] ?? model.unrounded[index]).map {
                (index: index, frozen: $0, work: $0.program.multiplyAdds)
            }
        }.sorted { ($1.work, $0.index) < ($0.work, $1.index) }
        let work = functions.first.map { Double($0.work) * Double(stored.count) / 2 } ?? 0
        guard work <= Self.mostWork else {
            return Losses(ranked: estimates(stored, model.weights))
        }
        var found = Losses()
        let interfaces = self.program.functions.map(\.interface)
        let file: InputMatcher? =
            if case .file(let file) = options.inputs { try InputMatcher(file, for: interfaces) } else { nil }
        let feeds = try file.map(rankedFeeds) ?? feeds
        let drawn = DrawnInputs(
            program, model.functions, seed: options.inputs.samplingSeed,
            PackageRunner(program, threads: options.threads))
        /// Whether a function has inputs of the file that was given.
        func isGiven(_ index: Int) -> Bool { feeds[index]?.isEmpty == false }
        // Those that the inputs of a file fit come first; others run on drawn ones.
        for function in functions.filter({ isGiven($0.index) }) + functions.filter({ !isGiven($0.index) }) {
            let left = stored.filter { weight in !found.ranked.contains { $0.name == weight.name } }
            guard !left.isEmpty else { break }
            let program = function.frozen.program
            // States are empty, so the position is the first one.
            let positions = program.inputs.map(\.name).filter { program.interface.inputs[$0]?.kind == .position }
            let feeds = try usable(feeds, of: function.index, drawn)
            let affordable = Int(Self.mostWork / max(Double(function.work) * Double(left.count) / 2, 1))
            let count = min(feeds.count, Self.mostRuns, max(affordable, 1))
            var samples: CalibrationSamples?
            for number in 0..<count {
                let feed = try feeds[(2 * number + 1) * feeds.count / (2 * count)].completed()
                let inputs = feed.inputs.filter { !positions.contains($0.key) }
                let states = try program.encoderStates.compactMap { try feed.state($0.name)?.stored(name: $0.name) }
                let tensors = inputs.map { $0.value.stored(name: $0.key) } + states
                guard let run = try CalibrationSamples(tensors, for: program, file: "the inputs") else { continue }
                if samples == nil { samples = run } else { samples?.add(run) }
            }
            samples?.limitMemory(options.sampleMemory)
            guard let samples else { continue }
            if found.ranked.isEmpty {
                found.runs = (count, feeds.count)
                if let file {
                    let own = self.program.functions[function.index]
                    if !isGiven(function.index) { found.drawn = own.name }
                    found.tokens = cutLength(of: own, in: file.tensors)
                }
            }
            found.ranked += try [WeightLoss](
                of: left, madeBy: options.freeCodes, over: samples, where: options.isExpressible,
                threads: options.threads)
        }
        found.ranked = found.ranked.ranked
        return found
    }

    private func estimates(_ stored: [CompressedTensor], _ sources: [String: StoredTensor]) -> [WeightLoss] {
        let added = Dictionary(
            report.operators.map { ("\($0.function) \($0.label)", $0.injected.sqnr) }, uniquingKeysWith: min)
        var least: [String: Double] = [:]
        for function in program.functions {
            for call in function.calls {
                guard let sqnr = added["\(function.name) \(call.label)"] else { continue }
                for case .weight(let index) in call.inputs.map(\.storage) where program.weights.indices.contains(index)
                {
                    let name = program.weights[index].name
                    least[name] = min(least[name] ?? .infinity, sqnr)
                }
            }
        }
        return stored.compactMap { tensor in
            guard let sqnr = least[tensor.name], let source = sources[tensor.name] else { return nil }
            return WeightLoss(
                estimating: tensor, madeBy: options.freeCodes[tensor.name], of: source, sqnr: sqnr,
                where: options.isExpressible)
        }.ranked
    }

    /// The inputs of each function's runs on a file. Of a decoder, texts that are shorter than its blocks fill them up behind a mask: the
    /// functions of one token would see the first ones only.
    private func rankedFeeds(_ file: InputMatcher) throws -> [Int: [FunctionFeed]] {
        guard let samples = file.samples else { return feeds }
        var runs = feeds.sorted { $0.key < $1.key }.flatMap { index, feeds in
            feeds.map { FeedPlan.Run(function: index, feed: $0) }
        }
        for index in program.functions.indices where feeds[index] == nil {
            runs += texts(of: samples, for: program.functions[index]).map { .init(function: index, feed: $0) }
        }
        let given = try EncoderStates(program: program, model: model).given(to: runs, file: file)
        return Dictionary(grouping: given, by: \.function).mapValues { $0.map(\.feed) }
    }

    /// Returns the tokens that a decoder's function takes of each text of a file that has longer ones; nil if it takes all.
    private func cutLength(of function: FunctionPlan, in tensors: [String: StoredTensor]) -> Int? {
        guard function.input(.position) != nil, let port = function.input(.tokens),
            let length = port.shape.dimensions.last, let found = tensors[port.name]?.shape.dimensions.last
        else { return nil }
        return found > length ? length : nil
    }

    /// Returns the texts of a file as blocks of a decoder, from their first tokens on, with a mask of the tokens that count.
    private func texts(of samples: SampleInputs, for function: FunctionPlan) -> [FunctionFeed] {
        guard function.input(.position) != nil, let port = function.input(.tokens), port.shape.rank == 2,
            let tokens = samples.tensors[port.name], tokens.holdsIndices, tokens.shape.rank == 2
        else { return [] }
        let (count, width) = (tokens.shape.dimensions[0], tokens.shape.dimensions[1])
        let (rows, length) = (port.shape.dimensions[0], port.shape.dimensions[1])
        guard count > 0, width > 0 else { return [] }
        let mask = samples.tensors[SampleInputs.maskName].map { HostTensor($0) }
        let shown =
            mask.flatMap { $0.shape == tokens.shape ? HostTensor($0.integers, $0.shape) : nil }
            ?? HostTensor([Int64](repeating: 1, count: count * width), tokens.shape)
        return stride(from: 0, to: count, by: rows).map { start in
            let own = (start..<start + rows).map { $0 % count }
            var counts = shown.samples(own, positions: length).integers
            // The first texts fill up the last batch, and count once.
            for index in min(rows, count - start) * length..<rows * length { counts[index] = 0 }
            return FunctionFeed(inputs: [
                port.name: HostTensor(tokens).samples(own, positions: length),
                SampleInputs.maskName: HostTensor(counts, Shape([rows, length])),
            ])
        }
    }

    /// Returns the inputs of a function's runs: the file's, those that a decoder's golden has for it, or drawn ones.
    private func usable(
        _ feeds: [Int: [FunctionFeed]], of index: Int, _ drawn: DrawnInputs
    ) throws -> [FunctionFeed] {
        var given = feeds[index] ?? []
        if feeds.isEmpty, let golden = options.inputs.golden {
            given = golden.samples.flatMap { sample in
                ((try? InputMatcher(golden: sample).functions(of: program)) ?? []).filter { $0.function == index }
                    .map(\.feed)
            }
        }
        given = given.filter { program.functions[index].encoderStates(missingIn: $0).isEmpty }
        return given.isEmpty ? [try drawn.feed(for: index)].compactMap(\.self) : given
    }
}
