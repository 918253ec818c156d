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
    private let (steps, stepCodes, roundings, sums): (MemoryLocation, MemoryLocation, MemoryLocation, MemoryLocation)
    /// Steps of a row, with the zeros that follow them.
    private let stride: Int
    private let order: StepCodeOrder

    /// The step codes that a kernel reads beside the steps.
    enum StepCodeOrder {
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
        steps = workspace.reserve(floats: count * stride / 2)
        stepCodes = workspace.reserve(floats: order == .none ? 0 : count * stride / 4)
        roundings = workspace.reserve(floats: count * MemoryLayout<ck_rounding>.stride / 4)
        sums = workspace.reserve(floats: codes.hasShifts ? count * codes.blocks : 0)
    }

    var rounding: KernelStep {
        .rows(count, width: depth) { rows in
            guard let source = source.contiguousFloats else { return }
            for row in rows {
                let own = stepsStart + row * stride
                range.withPointer { ck_round_row(source + row * depth, depth, $0, own, roundingsStart + row) }
                if codes.hasShifts { ck_sum_steps(own, depth, codes.block, sumsStart + row * codes.blocks) }
                switch order {
                case .none: break
                case .natural: ck_step_codes(own, depth, roundingsStart[row], stepCodesStart + row * stride)
                case .split: ck_split_step_codes(own, depth, roundingsStart[row], stepCodesStart + row * stride)
                }
            }
        }
    }

    /// All rows, for a matrix product.
    var rows: ck_rounded_rows {
        ck_rounded_rows(
            steps: stepsStart, step_codes: order == .none ? nil : UnsafePointer(stepCodesStart), stride: stride,
            roundings: roundingsStart, sums: codes.hasShifts ? sumsStart : nil)
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

    private var stepsStart: UnsafeMutablePointer<Int16> { steps.start.assumingMemoryBound(to: Int16.self) }
    private var stepCodesStart: UnsafeMutablePointer<UInt8> { stepCodes.start.assumingMemoryBound(to: UInt8.self) }
    private var roundingsStart: UnsafeMutablePointer<ck_rounding> {
        roundings.start.assumingMemoryBound(to: ck_rounding.self)
    }
    private var sumsStart: UnsafeMutablePointer<Int32> { sums.start.assumingMemoryBound(to: Int32.self) }
}
