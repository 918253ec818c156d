import AccelByteIO
import CAccelKernels
import TestSupport
import Testing

@testable import AccelTensors
@testable import AccelWeightCompression

/// Inputs whose elements go together, some of them large, one never seen.
struct SampleInputs {
    let vectors: [[Float]]
    var columns: Int { vectors[0].count }

    init(_ count: Int, columns: Int, seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let mixing = (0..<columns * 5).map { _ in Float.random(in: -1...1, using: &generator) }
        vectors = (0..<count).map { _ in
            let causes = (0..<5).map { _ in Float.random(in: -1...1, using: &generator) }
            return (0..<columns).map { column in
                if column == columns - 1 { return 0 }
                let common = (0..<5).reduce(Float(0)) { $0 + causes[$1] * mixing[column * 5 + $1] }
                let size: Float = column % 11 == 0 ? 8 : 1
                return size * (common + 0.3 * Float.random(in: -1...1, using: &generator))
            }
        }
    }

    func statistics(threads: Int = 1) throws -> ActivationStatistics {
        let sums = MomentSums(columns: columns)
        for vector in vectors { sums.add(vector, threads: threads) }
        return try #require(sums.statistics(threads: threads))
    }

    /// Squared error of a weight's outputs over the vectors.
    func outputError(of weight: CompressedTensor, from source: StoredTensor) -> Double {
        let (stored, original) = (weight.floats(), source.floats())
        var sum = 0.0
        for vector in vectors {
            for row in 0..<source.shape.rows {
                var error = 0.0
                for column in 0..<columns {
                    let place = row * columns + column
                    error += Double(vector[column]) * (Double(stored[place]) - Double(original[place]))
                }
                sum += error * error
            }
        }
        return sum
    }
}

@Suite("What is known of a weight's inputs", .serialized)
struct FeedbackTests {
    @Test("moments are means of products, with the same bits on every set and any number of threads")
    func moments() throws {
        let inputs = SampleInputs(451, columns: 70, seed: 3)
        let known = try inputs.statistics()
        for (row, column) in [(0, 0), (5, 3), (69, 69), (68, 0), (33, 11)] {
            let exact = inputs.vectors.reduce(0.0) { $0 + Double($1[row]) * Double($1[column]) } / 451
            #expect(abs(Double(known.moments[row * 70 + column]) - exact) <= 1e-5)
            #expect(known.moments[row * 70 + column] == known.moments[column * 70 + row])
        }
        #expect(try inputs.statistics(threads: 2).moments == known.moments)
        defer { _ = ck_limit_isa(CK_AMX) }
        for set in [CK_SCALAR, CK_AVX2] {
            _ = ck_limit_isa(set)
            #expect(try inputs.statistics().moments == known.moments)
        }
    }

    @Test("rows of a matrix count as one vector after the other, in blocks of any end, and so do their drifts")
    func blocks() throws {
        let columns = 37
        let count = 2 * MomentSums.blockRows + 5
        let (inputs, others) = (
            SampleInputs(count, columns: columns, seed: 3).vectors,
            SampleInputs(count, columns: columns, seed: 4).vectors
        )
        let rows = (0..<count).filter { $0 % 7 != 3 }
        func statistics(_ step: Int, threads: Int) throws -> ActivationStatistics {
            let sums = MomentSums(columns: columns, hasDrift: true)
            let (vectors, originals) = (inputs.flatMap { $0 }, others.flatMap { $0 })
            for start in stride(from: 0, to: rows.count, by: step) {
                sums.add(
                    Array(rows[start..<min(start + step, rows.count)]), of: vectors, originals: originals,
                    threads: threads)
            }
            return try #require(sums.statistics(threads: threads))
        }
        let known = try statistics(rows.count, threads: 1)
        #expect(known.count == rows.count)
        for (row, column) in [(0, 0), (36, 0), (5, 36), (33, 32), (12, 31)] {
            func mean(_ value: (Int) -> Double) -> Double { rows.reduce(0) { $0 + value($1) } / Double(rows.count) }
            let moment = mean { Double(inputs[$0][row]) * Double(inputs[$0][column]) }
            let drift = mean { (Double(others[$0][row]) - Double(inputs[$0][row])) * Double(inputs[$0][column]) }
            #expect(abs(Double(known.moments[row * columns + column]) - moment) <= 1e-5 * max(1, abs(moment)))
            #expect(abs(Double(known.drift[row * columns + column]) - drift) <= 1e-5 * max(1, abs(drift)))
        }
        for (step, threads) in [(1, 2), (100, 2), (MomentSums.blockRows, 1), (rows.count, 3)] {
            #expect(try statistics(step, threads: threads).digest == known.digest)
        }
    }

    @Test("the factor is that of the moments", arguments: [1, 16, 37, 100])
    func factor(columns: Int) throws {
        let statistics = try SampleInputs(200, columns: columns, seed: 9).statistics()
        let factor = statistics.factor(FeedbackOrder(group: 4), threads: 2)
        #expect(Set(factor.order).count == columns)
        let width = FeedbackFactor.width
        func upper(_ row: Int, _ column: Int) -> Double {
            var value: Float = 0
            if row <= column { factor.withPanel(column / width) { value = $0[row * width + column % width] } }
            return Double(value)
        }
        let squares = statistics.meanSquares.reduce(0) { $0 + Double($1) } / Double(columns)
        let damping = FeedbackFactor.damping(columns: columns, count: 200)
        for row in 0..<columns {
            for column in row..<columns {
                let product = (column..<columns).reduce(0.0) {
                    $0 + upper(row, $1) * Double(factor.pivots[$1]) * upper(column, $1)
                }
                var moment = Double(
                    statistics.moments[Int(factor.order[row]) * columns + Int(factor.order[column])])
                if row == column { moment += damping * (squares > 0 ? squares : 1) }
                #expect(abs(product - moment) <= 1e-4 * max(squares, 1))
                for (row, column) in [(row, column), (column, row)] {
                    factor.withMoments(column / width) {
                        #expect(abs(Double($0[row * width + column % width]) - moment) <= 1e-6 * max(squares, 1))
                    }
                }
            }
        }
    }

    @Test("the damping is smaller with more vectors for each column, and never larger than a quarter")
    func damping() {
        let counts = [0, 100, 300, 1000, 10_000, 1_000_000]
        let found = counts.map { FeedbackFactor.damping(columns: 100, count: $0) }
        #expect(found.prefix(2) == [0.25, 0.25] && found.sorted(by: >) == found)
        #expect(abs(found[3] - 0.08) < 1e-9 && abs(found[5] - 0.03) < 1e-3)
    }

    @Test(
        "what drift moves the aims by is its share of W C H^-1, in terms of the factor",
        arguments: [1, 31, 32, 37, 100])
    func drift(columns: Int) throws {
        let plain = try SampleInputs(200, columns: columns, seed: 9).statistics()
        let drift = OddTensor.normal(columns * columns, seed: 10)
        let statistics = ActivationStatistics(columns: columns, count: 200, moments: plain.moments, drift: drift)
        let factor = statistics.factor(FeedbackOrder(group: 1), threads: 1)
        let weights = OddTensor.normal(3 * columns, seed: 11)
        var (aims, pulls) = (weights, weights)
        try #require(factor.correction).aims(weights, rows: 3, into: &aims, pulls: &pulls)
        let width = FeedbackFactor.width
        func upper(_ row: Int, _ column: Int) -> Double {
            var value: Float = 0
            factor.withPanel(column / width) { value = $0[row * width + column % width] }
            return Double(value)
        }
        for row in 0..<3 {
            let moves = factor.order.map {
                Double(aims[row * columns + Int($0)]) - Double(weights[row * columns + Int($0)])
            }
            for position in 0..<columns {
                let found = (position..<columns).reduce(0.0) {
                    $0 + moves[$1] * Double(factor.pivots[$1]) * upper(position, $1)
                }
                let wanted = (0..<columns).reduce(0.0) {
                    $0 + Double(weights[row * columns + $1])
                        * Double(drift[$1 * columns + Int(factor.order[position])])
                }
                let share = Double(DriftCorrection.share) * wanted
                #expect(abs(found - share) <= 1e-3 * max(1, wanted.magnitude))
                #expect(abs(Double(pulls[row * columns + position]) - share) <= 1e-4 * max(1, wanted.magnitude))
            }
        }
    }

    @Test(
        "each code is the nearest to the weight and the weighted errors of all columns before", arguments: [16, 32, 64])
    func plainForm(block: Int) throws {
        let (rows, columns) = (20, 3 * FeedbackFactor.width + 5)
        let source = StoredTensor(
            name: "w", floats: OddTensor.normal(rows * columns, seed: 14), shape: [rows, columns])
        let statistics = try SampleInputs(300, columns: columns, seed: 15).statistics()
        let made = try Self.feedback(source, statistics, block: block, passes: 0)
        let (weights, stored) = (source.floats().map { Double($0) }, made.stored.map { Double($0) })
        let scales = made.scales.map { Double($0) }
        let factor = statistics.factor(FeedbackOrder(group: block), threads: 1)
        let (width, blocks) = (FeedbackFactor.width, (columns + block - 1) / block)
        let reach = Double(LinearGridSearch.feedbackReach)
        var moved = 0
        for row in 0..<rows {
            var errors: [Double] = []
            for (position, column) in factor.order.map({ Int($0) }).enumerated() {
                let (value, scale) = (weights[row * columns + column], scales[row * blocks + column / block])
                var target = value
                factor.withPanel(position / width) { upper in
                    for (before, error) in errors.enumerated() {
                        target += error * Double(upper[before * width + position % width])
                    }
                }
                let nearest = min(max(value / scale, -8), 7).rounded()
                let bounds = (max(nearest - reach, -8), min(nearest + reach, 7))
                let code = stored[row * columns + column] / scale
                // Half a step, and the rounding of sums in float32.
                #expect(abs(min(max(target / scale, bounds.0), bounds.1) - code) < 0.5001, "row \(row), \(position)")
                if abs(code - nearest) > 0.5 { moved += 1 }
                errors.append(value - stored[row * columns + column])
            }
        }
        #expect(moved > rows * columns / 50)
    }

    /// The values of error feedback with int4 in blocks, and the scale of each block.
    private static func feedback(
        _ source: StoredTensor, _ statistics: ActivationStatistics, block: Int, passes: Int
    ) throws -> (stored: [Float], scales: [Float]) {
        let (rows, columns) = (source.shape.rows, source.shape.columns)
        let factor = statistics.factor(FeedbackOrder(group: block), threads: 1)
        let codec = try #require(try Codecs.codec("int4:scales=float32") as? Int4Codec)
        let blocks = (columns + block - 1) / block
        var (stored, codes) = (source.floats(), [UInt8](repeating: 0, count: rows * columns))
        var scales = [Float](repeating: 0, count: rows * blocks)
        try scales.withUnsafeMutableBufferPointer { scales in
            nonisolated(unsafe) let scales = scales
            var grid = LinearFeedbackGrid(
                run: block, search: codec.search, importance: ActivationStatistics.floored(factor.pivots), reach: 3
            ) { row, position, grid in scales[row * blocks + Int(factor.order[position]) / block] = grid.scale }
            ErrorFeedback(factor: factor, passes: passes)
                .run(source.floats(), rows: rows, grid: &grid, codes: &codes, stored: &stored)
            if let failure = grid.failure { throw failure.error }
        }
        for (index, value) in stored.enumerated() {
            let scale = scales[index / columns * blocks + index % columns / block]
            #expect(value == scale * Float(Int8(bitPattern: codes[index])))
        }
        return (stored, scales)
    }

    @Test(
        "no code alone could be better once all have been chosen again, with a drift and without",
        arguments: [false, true])
    func descent(hasDrift: Bool) throws {
        let (rows, columns, block) = (20, 3 * FeedbackFactor.width + 5, 16)
        let source = StoredTensor(
            name: "w", floats: OddTensor.normal(rows * columns, seed: 14), shape: [rows, columns])
        let plain = try SampleInputs(300, columns: columns, seed: 15).statistics()
        let drift = hasDrift ? OddTensor.normal(columns * columns, seed: 10).map { $0 / 8 } : []
        let statistics = ActivationStatistics(
            columns: columns, count: 300, moments: plain.moments, drift: drift)
        let squares = statistics.meanSquares.reduce(0) { $0 + Double($1) } / Double(columns)
        let damping = FeedbackFactor.damping(columns: columns, count: 300) * squares
        let weights = source.floats().map { Double($0) }
        /// The gradients of all elements, and the error of the outputs, less a constant.
        func error(_ stored: [Float]) -> (gradients: [Double], sum: Double) {
            var (gradients, sum) = ([Double](repeating: 0, count: rows * columns), 0.0)
            for row in 0..<rows {
                let errors = (0..<columns).map { weights[row * columns + $0] - Double(stored[row * columns + $0]) }
                for column in 0..<columns {
                    var (gradient, pull) = (damping * errors[column], 0.0)
                    for other in 0..<columns {
                        gradient += errors[other] * Double(statistics.moments[other * columns + column])
                        if hasDrift { pull += weights[row * columns + other] * Double(drift[other * columns + column]) }
                    }
                    pull *= Double(DriftCorrection.share)
                    gradients[row * columns + column] = gradient + pull
                    sum += errors[column] * (gradient + 2 * pull)
                }
            }
            return (gradients, sum)
        }
        let made = try [0, 1, 2, 30].map { try Self.feedback(source, statistics, block: block, passes: $0) }
        let sums = made.map { error($0.stored).sum }
        #expect(sums[1] < sums[0] && sums[2] < sums[1] && sums[3] <= sums[2])
        let (last, gradients) = (made[3], error(made[3].stored).gradients)
        let blocks = (columns + block - 1) / block
        for index in gradients.indices {
            let (row, column) = index.quotientAndRemainder(dividingBy: columns)
            let scale = Double(last.scales[row * blocks + column / block])
            let moment = Double(statistics.moments[column * columns + column]) + damping
            let code = Double(last.stored[index]) / scale
            let nearest = min(max(weights[index] / scale, -8), 7).rounded()
            let bounds = (max(nearest - 3, -8), min(nearest + 3, 7))
            let target = min(max(code + gradients[index] / moment / scale, bounds.0), bounds.1)
            #expect(abs(target - code) < 0.501, "row \(row), column \(column)")
        }
    }

    @Test("the digest of statistics is another one for each of their parts")
    func digest() {
        func digest(
            count: Int = 3, moments: [Float] = [1, 0, 0, 1], drift: [Float] = [0, 1, 2, 3], held: [Float] = [1, 2],
            heldDrift: [Float] = [3, 4]
        ) -> Digest {
            ActivationStatistics(
                columns: 2, count: count, moments: moments, drift: drift,
                heldOut: HeldOutVectors(vectors: held, drifts: heldDrift)
            ).digest
        }
        let all = [
            digest(), digest(count: 4), digest(moments: [1, 0, 0, 2]), digest(drift: [0, 1, 2, 4]), digest(drift: []),
            digest(held: [1, 3]), digest(held: []), digest(heldDrift: [3, 5]), digest(heldDrift: []),
            digest(moments: [0, 1, 2, 3], drift: [1, 0, 0, 1]), digest(held: [3, 4], heldDrift: [1, 2]),
            ActivationStatistics(count: 3, meanSquares: [1, 1]).digest,
            ActivationStatistics(count: 3, meanSquares: [1, 2]).digest,
            ActivationStatistics(count: 4, meanSquares: [1, 2]).digest,
        ]
        #expect(Set(all).count == all.count)
        #expect(digest() == digest())
    }

    @Test("a method that held-out vectors speak against gives way to the codec without statistics", arguments: schemes)
    func fallback(scheme: String) throws {
        let source = StoredTensor(name: "w", floats: OddTensor.normal(40 * 72, seed: 4), shape: [40, 72])
        let known = try SampleInputs(300, columns: 72, seed: 5).statistics()
        let plain = try Codecs.codec(scheme)
        let codec = plain.using(.gptq)
        func stored(_ held: [[Float]]) throws -> CompressedTensor {
            let statistics = ActivationStatistics(
                columns: 72, count: 300, moments: known.moments,
                heldOut: HeldOutVectors(vectors: held.flatMap { $0 }))
            return try CompressedTensor.compressing(source, with: codec, judgedBy: statistics, threads: 2).tensor
        }
        func bytes(_ weight: CompressedTensor) -> [[UInt8]] { weight.sections.map { $0.withBytes(Array.init) } }
        // The same kind of inputs; then those that the moments take for small, one by one.
        let same = try stored(Array(SampleInputs(300, columns: 72, seed: 5).vectors.prefix(40)))
        #expect(same.codec.specification == codec.specification)
        let single = (0..<72).map { column in (0..<72).map { Float($0 == column ? 1 : 0) } }
        let other = try stored(single)
        let free = try CompressedTensor.compressing(source, with: plain, threads: 1).tensor
        #expect(other.codec.specification == plain.specification)
        #expect(bytes(other) == bytes(free))
        #expect(try stored([]).codec.specification == codec.specification)
    }

    static let schemes = [
        "int4:block=16", "int4", "int4:block=64", "int4:block=channel,scales=float32", "int4:mode=asymmetric",
        "affine:bits=4", "affine:bits=3,block=16,scales=float32", "affine:bits=2,block=64,scales=bfloat16",
        "affine:bits=8,block=channel", "nf4", "fp4:block=16", "mxfp4", "nvfp4:global=none", "nvfp4", "mxfp8:type=e5m2",
        "iq4_nl", "q4_0", "q4_1:fit=mse", "q5_0", "q5_1", "q2_k:fit=mse", "q3_k", "q4_k", "q4_k:fit=mse", "q5_k",
        "q6_k",
        "int8", "int8:axis=tensor", "palette:bits=4", "palette:bits=3,group=5",
        "palette:bits=2,scale=channel",
        "palette:bits=8,entries=float16",
    ]

    @Test("weighted codes lose less in the outputs than the nearest, gptq's less still", arguments: schemes)
    func outputs(scheme: String) throws {
        let source = StoredTensor(name: "w", floats: OddTensor.normal(40 * 72, seed: 4), shape: [40, 72])
        let inputs = SampleInputs(300, columns: 72, seed: 5)
        let statistics = try inputs.statistics()
        let errors = try ["nearest", "weighted", "gptq"].map { method in
            let codec = try Codecs.codec("\(scheme)\(scheme.contains(":") ? "," : ":")method=\(method)")
            let weight = try CompressedTensor.compressing(source, with: codec, given: statistics, threads: 1).tensor
            return inputs.outputError(of: weight, from: source)
        }
        #expect(errors[1] <= errors[0] * 1.02)
        #expect(errors[2] < 0.7 * errors[0])
    }

    @Test("the bytes depend neither on threads nor on the instruction set", arguments: schemes)
    func bytes(scheme: String) throws {
        let source = StoredTensor(name: "w", floats: OddTensor.normal(70 * 45, seed: 6), shape: [70, 45])
        let inputs = SampleInputs(100, columns: 45, seed: 7)
        func sections(threads: Int) throws -> [[UInt8]] {
            let codec = try Codecs.codec("\(scheme)\(scheme.contains(":") ? "," : ":")method=gptq")
            return try CompressedTensor.compressing(
                source, with: codec, given: inputs.statistics(threads: threads), threads: threads
            ).tensor.sections.map { $0.withBytes(Array.init) }
        }
        let known = try sections(threads: 1)
        #expect(try sections(threads: 2) == known)
        defer { _ = ck_limit_isa(CK_AMX) }
        for set in [CK_SCALAR, CK_AVX2] {
            _ = ck_limit_isa(set)
            #expect(try sections(threads: 1) == known)
        }
    }

    @Test("stored codes prove themselves whatever the weights, and another weight's do not", arguments: schemes)
    func proof(scheme: String) throws {
        // Numbers of a coarse grid are often in the middle of two values of a scheme.
        var generator = SeededGenerator(seed: 3)
        let coarse = (0..<48 * 96).map { _ in Float(Int.random(in: -24...24, using: &generator)) / 4 }
        let sources =
            OddTensor.matrices.map(\.tensor) + [StoredTensor(name: "coarse", floats: coarse, shape: [48, 96])]
        for source in sources where source.shape.columns > 1 {
            let statistics = try SampleInputs(20, columns: source.shape.columns, seed: 8).statistics()
            for method in ["weighted", "gptq"] {
                let codec = try Codecs.codec("\(scheme)\(scheme.contains(":") ? "," : ":")method=\(method)")
                if EveryCodec.overflows(codec, source) { continue }
                let (weight, distortion) = try CompressedTensor.compressing(
                    source, with: codec, given: statistics, threads: 1)
                let violation = codec.violation(0..<source.shape.rows, of: weight, source: source)
                #expect(violation == nil, "\(codec.specification) of \(source.name): \(String(describing: violation))")
                #expect(distortion.squaredError.isFinite)
            }
        }
        let source = StoredTensor(name: "w", floats: OddTensor.normal(16 * 32, seed: 1), shape: [16, 32])
        let other = StoredTensor(name: "w", floats: OddTensor.normal(16 * 32, seed: 2), shape: [16, 32])
        let codec = try Codecs.codec("\(scheme)\(scheme.contains(":") ? "," : ":")method=gptq")
        let weight = try CompressedTensor.compressing(
            other, with: codec, given: SampleInputs(20, columns: 32, seed: 8).statistics(), threads: 1
        ).tensor
        #expect(codec.violation(0..<16, of: weight, source: source) != nil)
    }

    @Test(
        "a weight in pieces, made anywhere and read again, is that of one process; damaged pieces are none",
        arguments: schemes)
    func pieces(scheme: String) throws {
        let (rows, columns) = (2000, 320)
        let source = StoredTensor(
            name: "w", floats: OddTensor.normal(rows * columns, seed: 4), shape: [rows, columns])
        let known = try SampleInputs(400, columns: columns, seed: 5).statistics()
        for held in [[], SampleInputs(40, columns: columns, seed: 5).vectors.flatMap { $0 }] {
            let statistics = ActivationStatistics(
                columns: columns, count: 400, moments: known.moments, heldOut: HeldOutVectors(vectors: held))
            let codec = try Codecs.codec(scheme).using(.gptq)
            let whole = try CompressedTensor.compressing(source, with: codec, judgedBy: statistics, threads: 2)
            let work = try JudgedCompression(source, with: codec, by: statistics)
            let middle = work.unitCount / 2
            let ranges = [0..<middle, middle..<work.unitCount].filter { !$0.isEmpty }
            let contents = try ranges.map { range in
                ByteView(try work.piece(range, threads: 1).content.flatMap { $0.withBytes(Array.init) })
            }
            let pieces = try zip(ranges, contents).map { try #require(work.piece($0, from: $1)) }
            let joined = try work.joined(pieces)
            #expect(joined.tensor.sections == whole.tensor.sections && joined.distortion == whole.distortion)
            #expect(joined.tensor.codec.specification == whole.tensor.codec.specification)
            let (range, content) = (ranges[0], contents[0])
            #expect(work.piece(range, from: content[0..<content.count - 1]) == nil)
            #expect(work.piece(range, from: content[0..<7]) == nil)
            var bytes = content.withBytes(Array.init)
            bytes[15] = 0xff
            #expect(work.piece(range, from: ByteView(bytes)) == nil)
            if pieces.count > 1 {
                #expect(throws: FormatError.self) { try work.joined([pieces[1], pieces[0]]) }
                #expect(throws: FormatError.self) { try work.joined([pieces[0]]) }
            }
        }
    }
}
