package import AccelByteIO
import AccelPlatform

/// A polyphase filter from one rate to another: a sinc with 64 zero crossings on each side under a Kaiser window, whose cut-off is 0.948 of
/// the lower Nyquist frequency. Each output sample is the sum of the input samples around its time, weighted by the filter.
///
/// The filter is that of torchaudio's `resample` with `sinc_interp_kaiser` and the parameters of resampy's "kaiser_best" (Smith 2002,
/// Digital Audio Resampling): aliases and images are below -100 dB.
package struct Resampler: Sendable {
    private static let zeroCrossings = 64.0
    private static let rolloff = 0.9475937167399596
    private static let beta = 14.769656459379492
    /// The most weights of all phases.
    static let largestTable = 1 << 24

    /// The rates, divided by their greatest common divisor.
    private let source, target: Int
    /// The weights of each phase, one after the other.
    private let weights: [Float]
    /// The weights of a phase.
    private let taps: Int
    /// The first input sample of each phase, from that of the block.
    private let starts: [Int]

    /// - Throws: `RequestError` if a rate is not positive, or the table of the filter would have more than 2^24 weights.
    package init(from source: Int, to target: Int) throws(RequestError) {
        guard source > 0, target > 0 else {
            throw RequestError("resampling from \(source) to \(target) Hz: a rate is not positive")
        }
        let divisor = Self.greatestCommonDivisor(source, target)
        (self.source, self.target) = (source / divisor, target / divisor)
        let (from, to) = (Double(self.source), Double(self.target))
        // In cycles for `from` input samples.
        let cutoff = min(from, to) * Self.rolloff
        let reach = Self.zeroCrossings * from / cutoff
        guard reach < 1e6, (2 * reach + 2) * to < Double(Self.largestTable) else {
            throw RequestError("resampling from \(source) to \(target) Hz needs too large a filter")
        }
        taps = 2 * Int(reach.rounded(.up)) + 1
        var weights: [Float] = []
        var starts: [Int] = []
        weights.reserveCapacity(taps * self.target)
        for phase in 0..<self.target {
            let time = Double(phase) * from / to
            let start = Int((time - reach).rounded(.up))
            starts.append(start)
            for tap in 0..<taps {
                weights.append(Float(Self.weight((Double(start + tap) - time) * cutoff / from) * cutoff / from))
            }
        }
        (self.weights, self.starts) = (weights, starts)
    }

    /// The windowed sinc at a time in zero crossings.
    private static func weight(_ time: Double) -> Double {
        guard abs(time) < zeroCrossings else { return 0 }
        let share = time / zeroCrossings
        let window = bessel(beta * (1 - share * share).squareRoot()) / bessel(beta)
        let angle = time * Double.pi
        return window * (angle == 0 ? 1 : sin(angle) / angle)
    }

    /// The modified Bessel function of the first kind of order 0, by its power series.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term, index) = (1.0, 1.0, 1.0)
        while term > sum * 1e-17 {
            term *= (x / (2 * index)) * (x / (2 * index))
            sum += term
            index += 1
        }
        return sum
    }

    private static func greatestCommonDivisor(_ first: Int, _ second: Int) -> Int {
        second == 0 ? first : greatestCommonDivisor(second, first % second)
    }

    /// Returns `samples.count * target / source` samples, rounded up. Samples before the first and after the last count as 0.
    package func resample(_ samples: [Float]) -> [Float] {
        self.samples(0..<count(of: samples.count), of: samples, from: 0)
    }

    /// The number of samples that so many input samples make.
    func count(of sampleCount: Int) -> Int {
        let (whole, part) = sampleCount.quotientAndRemainder(dividingBy: source)
        return whole * target + (part * target + source - 1) / source
    }

    /// The input samples that an output sample is made of, those before the first one and after the last one included.
    func input(of index: Int) -> Range<Int> {
        let (block, phase) = index.quotientAndRemainder(dividingBy: target)
        let start = block * source + starts[phase]
        return start..<start + taps
    }

    /// Returns some output samples. Input samples before 0 and after the last one count as 0.
    /// - Parameter first: the index of the first of the input samples, of which no earlier one is needed.
    func samples(_ indices: Range<Int>, of samples: [Float], from first: Int) -> [Float] {
        samples.withUnsafeBufferPointer { samples in
            weights.withUnsafeBufferPointer { weights in
                [Float](unsafeUninitializedCapacity: indices.count) { made, written in
                    for index in indices {
                        let range = input(of: index).clamped(to: 0..<first + samples.count)
                        let phase = index % target
                        let tap = range.isEmpty ? 0 : range.lowerBound - input(of: index).lowerBound
                        made[index - indices.lowerBound] = Self.product(
                            weights.baseAddress! + phase * taps + tap,
                            samples.baseAddress! + (range.isEmpty ? 0 : range.lowerBound - first), range.count)
                    }
                    written = indices.count
                }
            }
        }
    }

    private static func product(_ left: UnsafePointer<Float>, _ right: UnsafePointer<Float>, _ count: Int) -> Float {
        var sums = SIMD16<Float>.zero
        let (l, r) = (UnsafeRawPointer(left), UnsafeRawPointer(right))
        var index = 0
        while index + 16 <= count {
            sums +=
                l.loadUnaligned(fromByteOffset: 4 * index, as: SIMD16<Float>.self)
                * r.loadUnaligned(fromByteOffset: 4 * index, as: SIMD16<Float>.self)
            index += 16
        }
        var sum = sums.sum()
        while index < count {
            sum += left[index] * right[index]
            index += 1
        }
        return sum
    }
}

/// Resamples a sound that arrives in pieces: the samples are those of the whole sound.
package struct StreamedResampler: Sendable {
    private let resampler: Resampler
    /// The input samples that are needed yet, and the index of their first one.
    private var waiting: [Float] = []
    private var first = 0
    /// The number of samples that were made.
    private var made = 0

    /// - Throws: as `Resampler`.
    package init(from source: Int, to target: Int) throws(RequestError) {
        resampler = try Resampler(from: source, to: target)
    }

    /// Takes over the next samples.
    /// - Returns: the samples that do not depend on later ones.
    package mutating func append(_ samples: [Float]) -> [Float] {
        waiting += samples
        var end = made
        while resampler.input(of: end).upperBound <= first + waiting.count { end += 1 }
        return take(to: end)
    }

    /// Returns the last samples.
    package mutating func finish() -> [Float] { take(to: max(resampler.count(of: first + waiting.count), made)) }

    private mutating func take(to end: Int) -> [Float] {
        let samples = resampler.samples(made..<end, of: waiting, from: first)
        made = end
        let needed = min(max(resampler.input(of: made).lowerBound, first), first + waiting.count)
        waiting.removeFirst(needed - first)
        first = needed
        return samples
    }
}
