import CAccelKernels

/// The codes of a type of ggml whose weights are `scale * code - minimum`, and where their bits are in a block.
struct GGMLCodeLayout: Sendable {
    /// Some bits of all codes. A run of bytes has those of `run` weights in its lowest bits, of the next `run` weights in the bits above them, and
    /// so on.
    struct Plane: Sendable {
        let offset, bits, run: Int
    }

    /// The lowest bits first.
    let planes: [Plane]
    /// The lowest code has zeros for its bits.
    let codes: ClosedRange<Int>
    /// The offset of the unit of minima in a block, which is of type float16; nil for types without minima.
    let minimumOffset: Int?

    init(
        _ codes: ClosedRange<Int>, minimumAt minimumOffset: Int? = nil, _ planes: (offset: Int, bits: Int, run: Int)...
    ) {
        (self.codes, self.minimumOffset) = (codes, minimumOffset)
        self.planes = planes.map { Plane(offset: $0.offset, bits: $0.bits, run: $0.run) }
    }

    /// The largest distance in codes between a code of error feedback and the nearest one: a proof of codes that reached everywhere would prove
    /// nothing.
    var reach: Int { min(LinearGridSearch.feedbackReach, codes.count / 4) }

    /// Stores the code of one weight of a block.
    func store(_ code: Int, of weight: Int, in block: UnsafeMutablePointer<UInt8>) {
        var bits = code - codes.lowerBound
        for plane in planes {
            let (index, shift) = plane.place(of: weight)
            let mask = 1 << plane.bits - 1
            block[index] = block[index] & ~UInt8(mask << shift) | UInt8((bits & mask) << shift)
            bits >>= plane.bits
        }
    }

    /// Returns the code of one weight of a block.
    func code(of weight: Int, in block: UnsafePointer<UInt8>) -> Int {
        var (code, width) = (codes.lowerBound, 0)
        for plane in planes {
            let (index, shift) = plane.place(of: weight)
            code += (Int(block[index]) >> shift & (1 << plane.bits - 1)) << width
            width += plane.bits
        }
        return code
    }
}

extension GGMLCodeLayout.Plane {
    /// Returns the byte and the lowest bit of a weight.
    fileprivate func place(of weight: Int) -> (index: Int, shift: Int) {
        let (group, rest) = weight.quotientAndRemainder(dividingBy: run * (8 / bits))
        return (offset + group * run + rest % run, rest / run * bits)
    }
}

/// The steps of the weights of a part of a block: `scale * code + offset`.
struct GGMLSteps: Equatable {
    let scale, offset: Float
}

extension GGMLFormat {
    /// Returns the steps of all parts of a block, with the bits of its decoder.
    func steps(of block: UnsafePointer<UInt8>, _ layout: GGMLCodeLayout) -> [GGMLSteps] {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes) { copy in
            withUnsafeTemporaryAllocation(of: Float.self, capacity: elements) { values in
                guard let copied = copy.baseAddress, let decoded = values.baseAddress else { return [] }
                let firsts = stride(from: 0, to: elements, by: min(part, elements))
                copied.initialize(from: block, count: bytes)
                func decode(_ code: Int) -> [Float] {
                    for first in firsts { layout.store(code, of: first, in: copied) }
                    ck_ggml_decode(type, copied, 1, decoded)
                    return firsts.map { decoded[$0] }
                }
                let offsets = decode(0)
                if let offset = layout.minimumOffset { (copied + offset).update(repeating: 0, count: 2) }
                return zip(decode(1), offsets).map { GGMLSteps(scale: $0, offset: $1) }
            }
        }
    }
}
