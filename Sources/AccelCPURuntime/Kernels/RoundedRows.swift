import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of x as whole steps of a scale of their own, or of one for all of them, which products of integers read. A step
/// of the call fills them in.
struct RoundedRows: Sendable {
    private let source: OperandMemory
    private let (count, depth): (Int, Int)
    private let range: ck_rounding?
    private let codes: IntegerCodes
    private let scratch: SharedScratch
    /// Steps of a row, with the zeros that follow them.
    private let stride: Int
    private let order: StepCodeOrder
    /// Not only their codes are read.
    private let needsSteps: Bool

    /// The step codes that a kernel reads beside the steps.
    enum StepCodeOrder: Int {
        case none, natural
        /// As products with codes of four bits take them from where they are stored.
        case split
    }

    init(
        _ operands: LinearOperands, with codes: IntegerCodes, stepCodes order: StepCodeOrder, in workspace: Workspace
    ) {
        (source, count, depth, self.codes) = (operands.source, operands.rows, operands.depth, codes)
        (self.order, range) = (order, operands.range)
        stride = ck_step_stride(depth)
        let blocks = codes.hasShifts ? codes.blocks : 0
        needsSteps = order != .natural || codes.hasShifts
        scratch = workspace.reserve(
            .init(
                "rounded rows", of: source.operand,
                [order.rawValue, codes.hasShifts ? codes.block : 0] + operands.rangeParameters,
                floats: [
                    needsSteps ? count * stride / 2 : 0, order == .none ? 0 : count * stride / 4,
                    count * MemoryLayout<ck_rounding>.stride / 4, count * blocks,
                ]))
    }

    var rounding: KernelStep {
        .rows(count, width: depth, fills: scratch) { rows in
            guard let source = source.contiguousFloats else { return }
            for row in rows { round(source + row * depth, row) }
        }
    }

    private func round(_ source: UnsafePointer<Float>, _ row: Int) {
        let (target, ownCodes) = (roundingsStart + row, stepCodesStart + row * stride)
        guard needsSteps else {
            return range.withPointer { ck_round_row_to_codes(source, depth, $0, ownCodes, target) }
        }
        let own = stepsStart + row * stride
        range.withPointer { ck_round_row(source, depth, $0, own, target) }
        if codes.hasShifts { ck_sum_steps(own, depth, codes.block, sumsStart + row * codes.blocks) }
        switch order {
        case .none: break
        case .natural: ck_step_codes(own, depth, target.pointee, ownCodes)
        case .split: ck_split_step_codes(own, depth, target.pointee, ownCodes)
        }
    }

    /// All rows, for a matrix product.
    var rows: ck_rounded_rows {
        ck_rounded_rows(
            steps: needsSteps ? UnsafePointer(stepsStart) : nil,
            step_codes: order == .none ? nil : UnsafePointer(stepCodesStart), stride: stride, roundings: roundingsStart,
            sums: codes.hasShifts ? sumsStart : nil)
    }

    /// One row, for its products with rows of codes.
    /// - Parameters:
    ///   - halves: the scales of the codes as float16; nil: they are `scales`.
    func row(
        _ row: Int, halves: UnsafePointer<UInt16>?, scales: UnsafePointer<Float>, shifts: UnsafePointer<Float>
    ) -> ck_int8_dot {
        ck_int8_dot(
            steps: stepsStart + row * stride, step_codes: order == .none ? nil : stepCodesStart + row * stride,
            rounding: roundingsStart[row], sums: codes.hasShifts ? sumsStart + row * codes.blocks : nil,
            scale_halves: halves, scales: halves == nil ? scales : nil, shifts: codes.hasShifts ? shifts : nil,
            count: depth, block: codes.block,
            blocks: codes.blocks)
    }

    private var stepsStart: UnsafeMutablePointer<Int16> { start(of: 0) }
    private var stepCodesStart: UnsafeMutablePointer<UInt8> { start(of: 1) }
    private var roundingsStart: UnsafeMutablePointer<ck_rounding> { start(of: 2) }
    private var sumsStart: UnsafeMutablePointer<Int32> { start(of: 3) }

    private func start<Element>(of part: Int) -> UnsafeMutablePointer<Element> {
        scratch.parts[part].start.assumingMemoryBound(to: Element.self)
    }
}
