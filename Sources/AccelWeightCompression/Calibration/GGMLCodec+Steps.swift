import AccelByteIO
import AccelTensors
import CAccelKernels

/// Error feedback for types whose weights are steps: a block is encoded from the targets of its weights, so that it has the scales of the type's
/// own search, and then gets the codes that error feedback chooses one by one.
extension GGMLCodec {
    func steppedEncoding(
        _ layout: GGMLCodeLayout, _ unit: Range<Int>, of source: StoredTensor,
        feedingBackBy statistics: ActivationStatistics, into blocks: UnsafeMutableRawBufferPointer
    ) throws -> Distortion {
        let (columns, size, rowBytes) = (source.shape.columns, format.elements, bytesPerRow(source.shape))
        guard let start = blocks.bindMemory(to: UInt8.self).baseAddress else { return Distortion() }
        let factor = statistics.factor(feedbackOrder(source.shape), threads: 1)
        let encode = isLeastError ? ck_ggml_fit : ck_ggml_encode
        var grid = PartFeedbackGrid(
            elements: size, part: format.part, order: factor.order,
            importance: ActivationStatistics.floored(factor.pivots), codes: layout.codes,
            reach: layout.reach
        ) { row, block, targets, weights in
            let row = unit.lowerBound + row
            let target = start + row * rowBytes + block * format.bytes
            encode(format.type, targets, weights, 1, target)
            let steps = format.steps(of: target, layout)
            guard steps.allSatisfy({ $0.scale.isFinite && $0.offset.isFinite }) else {
                throw format.overflow(in: source, at: row * columns + block * size)
            }
            return steps
        }
        let distortion = try source.feedingBack(rows: unit, by: factor, on: &grid) { row, codes in
            for column in 0..<columns {
                let (block, weight) = column.quotientAndRemainder(dividingBy: size)
                layout.store(
                    Int(Int8(bitPattern: codes[column])), of: weight, in: start + row * rowBytes + block * format.bytes)
            }
        }
        if let error = grid.failure { throw error }
        return distortion
    }

    func steppedViolation(
        _ layout: GGMLCodeLayout, _ rows: Range<Int>, of weight: CompressedTensor, source: StoredTensor
    ) -> (index: Int, reason: String)? {
        let (columns, size, rowBytes) = (weight.shape.columns, format.elements, bytesPerRow(weight.shape))
        let reach = Float(layout.reach) + 0.5
        return weight.sections[0].withBytes { bytes in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return nil }
            return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(columns, 1)) { values in
                for row in rows {
                    source.readFloats(source.elements(ofRows: row..<row + 1), into: values)
                    for first in stride(from: 0, to: columns, by: size) {
                        let block = start + row * rowBytes + first / size * format.bytes
                        let steps = format.steps(of: block, layout)
                        for column in first..<min(first + size, columns) {
                            let (code, own) = (
                                Float(layout.code(of: column - first, in: block)),
                                steps[(column - first) / min(format.part, size)]
                            )
                            let exact = own.scale == 0 ? 0 : (values[column] - own.offset) / own.scale
                            let nearest = min(
                                max(exact, Float(layout.codes.lowerBound)), Float(layout.codes.upperBound))
                            // Rounding of the quotient may lead to the neighbour.
                            guard abs(nearest - code) <= (own.scale == 0 ? 0 : reach * 1.001) else {
                                return (
                                    row * columns + column,
                                    "is more than \(layout.reach) steps from the nearest code"
                                )
                            }
                        }
                    }
                }
                return nil
            }
        }
    }
}
