import AccelPlatform

/// The values of eight sequences at one index. Transforms run on eight frames at once, so that any length is vectorised.
package typealias Lanes = SIMD8<Float>

/// The discrete Fourier transform of complex sequences of one length, of eight of them at a time: mixed radices by Stockham's order
/// (Stockham 1966), or for lengths with a large prime factor a convolution of a power of two (Bluestein 1970).
struct FourierTransform: Sendable {
    let count: Int
    private let method: Method

    private indirect enum Method: Sendable {
        case stages([Stage])
        case chirp(Chirp)
    }

    fileprivate struct Stage: Sendable {
        let radix: Int
        /// The distance between the inputs of a butterfly, in groups of `stride`.
        let groups: Int
        let stride: Int
        /// For each group the factors of the outputs 1 to radix - 1.
        let twiddles: [SIMD2<Float>]
        /// The roots of unity of the radix.
        let roots: [SIMD2<Float>]
    }

    fileprivate struct Chirp: Sendable {
        let transform: FourierTransform
        /// exp(-i pi k^2 / count)
        let factors: [SIMD2<Float>]
        /// The transform of the conjugated factors, divided by its length.
        let filter: [SIMD2<Float>]
    }

    private static let largestRadix = 31

    /// - Parameter count: the number of elements, at least 1.
    init(_ count: Int) {
        let count = max(count, 1)
        self.count = count
        var (rest, radices) = (count, [Int]())
        for radix in [4, 2, 3] + Array(stride(from: 5, through: Self.largestRadix, by: 2)) {
            while rest.isMultiple(of: radix) {
                radices.append(radix)
                rest /= radix
            }
        }
        method = rest == 1 ? .stages(Self.stages(count, radices)) : .chirp(Self.chirp(count))
    }

    /// exp(-2 pi i numerator / denominator)
    static func root(_ numerator: Int, _ denominator: Int) -> SIMD2<Float> {
        let angle = -2 * Double.pi * Double(numerator % denominator) / Double(denominator)
        return SIMD2(Float(cos(angle)), Float(sin(angle)))
    }

    private static func stages(_ count: Int, _ radices: [Int]) -> [Stage] {
        var (length, step) = (count, 1)
        return radices.map { radix in
            let groups = length / radix
            let stage = Stage(
                radix: radix, groups: groups, stride: step,
                twiddles: (0..<groups).flatMap { group in (1..<radix).map { root(group * $0, length) } },
                roots: (0..<radix).map { root($0, radix) })
            length = groups
            step *= radix
            return stage
        }
    }

    private static func chirp(_ count: Int) -> Chirp {
        var size = 1
        while size < 2 * count - 1 { size *= 2 }
        let transform = FourierTransform(size)
        // k^2 modulo 2 count keeps the angle exact.
        let factors = (0..<count).map { root($0 * $0 % (2 * count), 2 * count) }
        let memory = LaneMemory(count: 2 * size)
        let (values, scratch) = (memory.values, memory.values.advanced(by: size))
        for (index, factor) in factors.enumerated() {
            for place in Set([index, (size - index) % size]) {
                values.real[place] = Lanes(repeating: factor.x)
                values.imaginary[place] = Lanes(repeating: -factor.y)
            }
        }
        transform.run(values, scratch)
        let filter = (0..<size).map { index in
            SIMD2(values.real[index][0], values.imaginary[index][0]) / Float(size)
        }
        withExtendedLifetime(memory) {}
        return Chirp(transform: transform, factors: factors, filter: filter)
    }

    /// The numbers of complex lanes that a run needs beside its values.
    var scratchCount: Int {
        switch method {
        case .stages: count
        case .chirp(let chirp): 2 * chirp.transform.count
        }
    }

    /// Replaces the first `count` values by their transform.
    /// - Parameter scratch: memory of `scratchCount` values, whose content does not matter.
    func run(_ values: ComplexLanes, _ scratch: ComplexLanes) {
        switch method {
        case .stages(let stages):
            var (from, to) = (values, scratch)
            for stage in stages {
                stage.run(from, to)
                swap(&from, &to)
            }
            if !stages.count.isMultiple(of: 2) {
                values.real.update(from: scratch.real, count: count)
                values.imaginary.update(from: scratch.imaginary, count: count)
            }
        case .chirp(let chirp): chirp.run(values, scratch, count)
        }
    }
}

/// Pointers to complex values of eight sequences.
struct ComplexLanes {
    let real, imaginary: UnsafeMutablePointer<Lanes>

    func advanced(by count: Int) -> ComplexLanes {
        ComplexLanes(real: real + count, imaginary: imaginary + count)
    }
}

/// Memory of complex values of eight sequences, zero at first.
final class LaneMemory {
    private let memory: UnsafeMutablePointer<Lanes>
    private let count: Int

    init(count: Int) {
        self.count = count
        memory = .allocate(capacity: max(2 * count, 1))
        memory.initialize(repeating: .zero, count: 2 * count)
    }

    deinit { memory.deallocate() }

    var values: ComplexLanes { ComplexLanes(real: memory, imaginary: memory + count) }
}

extension FourierTransform.Stage {
    /// Transforms each group of `radix` values, multiplies them by their twiddles, and writes them in the order of the next stage.
    func run(_ from: ComplexLanes, _ to: ComplexLanes) {
        twiddles.withUnsafeBufferPointer { twiddles in
            for group in 0..<groups {
                guard let start = twiddles.baseAddress else { continue }
                let factors = start + group * (radix - 1)
                let (source, target) = (
                    from.advanced(by: group * stride), to.advanced(by: group * radix * stride)
                )
                switch radix {
                case 2: pairs(source, target, factors[0])
                case 4: quads(source, target, factors)
                default: odd(source, target, factors)
                }
            }
        }
    }

    /// The distance between the inputs of a butterfly.
    private var step: Int { groups * stride }

    private func pairs(_ from: ComplexLanes, _ to: ComplexLanes, _ factor: SIMD2<Float>) {
        for index in 0..<stride {
            let (ar, ai) = (from.real[index], from.imaginary[index])
            let (br, bi) = (from.real[index + step], from.imaginary[index + step])
            to.real[index] = ar + br
            to.imaginary[index] = ai + bi
            let (dr, di) = (ar - br, ai - bi)
            to.real[index + stride] = dr * factor.x - di * factor.y
            to.imaginary[index + stride] = dr * factor.y + di * factor.x
        }
    }

    private func quads(_ from: ComplexLanes, _ to: ComplexLanes, _ factors: UnsafePointer<SIMD2<Float>>) {
        let (first, second, third) = (factors[0], factors[1], factors[2])
        for index in 0..<stride {
            let (ar, ai) = (from.real[index], from.imaginary[index])
            let (br, bi) = (from.real[index + step], from.imaginary[index + step])
            let (cr, ci) = (from.real[index + 2 * step], from.imaginary[index + 2 * step])
            let (dr, di) = (from.real[index + 3 * step], from.imaginary[index + 3 * step])
            let (sr, si) = (ar + cr, ai + ci)
            let (tr, ti) = (br + dr, bi + di)
            let (ur, ui) = (ar - cr, ai - ci)
            let (vr, vi) = (br - dr, bi - di)
            to.real[index] = sr + tr
            to.imaginary[index] = si + ti
            // The roots of the radix are 1, -i, -1 and i.
            let (pr, pi) = (ur + vi, ui - vr)
            to.real[index + stride] = pr * first.x - pi * first.y
            to.imaginary[index + stride] = pr * first.y + pi * first.x
            let (qr, qi) = (sr - tr, si - ti)
            to.real[index + 2 * stride] = qr * second.x - qi * second.y
            to.imaginary[index + 2 * stride] = qr * second.y + qi * second.x
            let (wr, wi) = (ur - vi, ui + vr)
            to.real[index + 3 * stride] = wr * third.x - wi * third.y
            to.imaginary[index + 3 * stride] = wr * third.y + wi * third.x
        }
    }

    /// Outputs j and radix - j share the sums and differences of the inputs k and radix - k.
    private func odd(_ from: ComplexLanes, _ to: ComplexLanes, _ factors: UnsafePointer<SIMD2<Float>>) {
        let half = radix / 2
        withUnsafeTemporaryAllocation(of: Lanes.self, capacity: 4 * half) { memory in
            roots.withUnsafeBufferPointer { roots in
                let sums = memory.baseAddress!
                for index in 0..<stride {
                    let (ar, ai) = (from.real[index], from.imaginary[index])
                    var (totalReal, totalImaginary) = (ar, ai)
                    for k in 1...half {
                        let (left, right) = (index + k * step, index + (radix - k) * step)
                        let (lr, li) = (from.real[left], from.imaginary[left])
                        let (rr, ri) = (from.real[right], from.imaginary[right])
                        let sum = sums + 4 * (k - 1)
                        (sum[0], sum[1], sum[2], sum[3]) = (lr + rr, li + ri, lr - rr, li - ri)
                        totalReal += sum[0]
                        totalImaginary += sum[1]
                    }
                    to.real[index] = totalReal
                    to.imaginary[index] = totalImaginary
                    for j in 1...half {
                        var (er, ei, or, oi) = (ar, ai, Lanes.zero, Lanes.zero)
                        var place = 0
                        for k in 0..<half {
                            place += j
                            if place >= radix { place -= radix }
                            let (root, sum) = (roots[place], sums + 4 * k)
                            er += sum[0] * root.x
                            ei += sum[1] * root.x
                            or += sum[3] * root.y
                            oi += sum[2] * root.y
                        }
                        let (first, last) = (factors[j - 1], factors[radix - j - 1])
                        let (pr, pi) = (er - or, ei + oi)
                        to.real[index + j * stride] = pr * first.x - pi * first.y
                        to.imaginary[index + j * stride] = pr * first.y + pi * first.x
                        let (qr, qi) = (er + or, ei - oi)
                        to.real[index + (radix - j) * stride] = qr * last.x - qi * last.y
                        to.imaginary[index + (radix - j) * stride] = qr * last.y + qi * last.x
                    }
                }
            }
        }
    }
}

extension FourierTransform.Chirp {
    func run(_ values: ComplexLanes, _ scratch: ComplexLanes, _ count: Int) {
        let size = transform.count
        let rest = scratch.advanced(by: size)
        for (index, factor) in factors.enumerated() {
            let (real, imaginary) = (values.real[index], values.imaginary[index])
            scratch.real[index] = real * factor.x - imaginary * factor.y
            scratch.imaginary[index] = real * factor.y + imaginary * factor.x
        }
        for index in count..<size { (scratch.real[index], scratch.imaginary[index]) = (.zero, .zero) }
        transform.run(scratch, rest)
        // The inverse transform is the transform of the conjugate, conjugated.
        for (index, factor) in filter.enumerated() {
            let (real, imaginary) = (scratch.real[index], scratch.imaginary[index])
            scratch.real[index] = real * factor.x - imaginary * factor.y
            scratch.imaginary[index] = -(real * factor.y + imaginary * factor.x)
        }
        transform.run(scratch, rest)
        for (index, factor) in factors.enumerated() {
            let (real, imaginary) = (scratch.real[index], -scratch.imaginary[index])
            values.real[index] = real * factor.x - imaginary * factor.y
            values.imaginary[index] = real * factor.y + imaginary * factor.x
        }
    }
}

/// The transform of real sequences of one length, of eight of them at a time.
struct RealTransform: Sendable {
    let count: Int
    /// An even number of values is transformed as half as many complex ones.
    private let transform: FourierTransform
    /// exp(-2 pi i k / count)
    private let factors: [SIMD2<Float>]
    /// The number of frequencies from 0 to the Nyquist frequency.
    var frequencyCount: Int { count / 2 + 1 }

    /// - Precondition: `count` is positive.
    init(_ count: Int) {
        self.count = count
        transform = FourierTransform(count.isMultiple(of: 2) ? count / 2 : count)
        factors = (0...count / 2).map { FourierTransform.root($0, count) }
    }

    /// The complex lanes of memory that a run needs.
    var memoryCount: Int { transform.count + transform.scratchCount }

    /// Calls `body` with the real and imaginary part at each frequency.
    /// - Parameters:
    ///   - value: the values of the eight sequences at an index.
    ///   - memory: `memoryCount` lanes, whose content does not matter.
    @inline(__always)
    func run(
        _ memory: ComplexLanes, _ value: (_ index: Int) -> Lanes,
        _ body: (_ frequency: Int, _ real: Lanes, _ imaginary: Lanes) -> Void
    ) {
        let scratch = memory.advanced(by: transform.count)
        guard count.isMultiple(of: 2) else {
            for index in 0..<count { (memory.real[index], memory.imaginary[index]) = (value(index), .zero) }
            transform.run(memory, scratch)
            for index in 0...count / 2 { body(index, memory.real[index], memory.imaginary[index]) }
            return
        }
        let half = count / 2
        for index in 0..<half {
            (memory.real[index], memory.imaginary[index]) = (value(2 * index), value(2 * index + 1))
        }
        transform.run(memory, scratch)
        for index in 0...half {
            let (near, far) = (index % half, (half - index) % half)
            let (ar, ai) = (memory.real[near], memory.imaginary[near])
            let (br, bi) = (memory.real[far], -memory.imaginary[far])
            // The transforms of the even and of the odd values; the odd one is divided by i.
            let (er, ei) = ((ar + br) * 0.5, (ai + bi) * 0.5)
            let (or, oi) = ((ai - bi) * 0.5, (br - ar) * 0.5)
            let factor = factors[index]
            body(index, er + or * factor.x - oi * factor.y, ei + or * factor.y + oi * factor.x)
        }
    }
}
