import AccelPrograms
import AccelTensors
import CAccelKernels

/// `x W^T + bias` with its activation, for rows of x that are rounded to 8 bits and weights that are stored as integers: the
/// codes are packed to panels, some at a time, and multiplied as integers.
struct Int8GEMMKernel: Kernel {
    static let operators: [any Operator.Type] = [QuantizedLinear.self]
    private let operands: LinearOperands
    private let codes: IntegerCodes
    private let rows: RoundedRows
    /// Four codes of a row lie side by side in a panel, not two.
    private let hasQuads: Bool
    private let encoding: String

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard let weight = operands.weight.storedWeight, let codes = IntegerCodes(weight) else {
            throw Unsuitable("takes weights stored as integers only")
        }
        (self.codes, encoding) = (codes, weight.encoding)
        hasQuads = (codes.blocks == 1 || codes.block % 4 == 0) && ck_int8_wants_quads(Int32(codes.bits)) != 0
        rows = RoundedRows(operands, with: codes, stepCodes: hasQuads ? .natural : .none, in: call.workspace)
    }

    var cost: Double { LinearCost.int8Panels(rows: operands.rows) }
    var reason: String { "\(encoding) codes packed to panels of integers; each meets \(operands.rows) rounded rows" }

    var steps: [KernelStep] {
        let (width, count) = (WeightPanels.width, operands.rows)
        let panels = (operands.width + width - 1) / width
        let panelBytes = ck_int8_panel_bytes(operands.depth)
        // Several panels share a pass over x, where they fit in the cache and enough pieces are left for all workers.
        let panelsAtOnce = max(1, min(4, (1 << 19) / max(panelBytes, 1), panels / 8))
        let groups = (panels + panelsAtOnce - 1) / panelsAtOnce
        // A piece packs its panels, so rows are divided only where panels alone leave workers idle.
        let rowBlocks = groups < 4 ? max(1, min(4, count / 128)) : 1
        let rowsPerBlock = (count + rowBlocks - 1) / rowBlocks
        let memory = Memory(panels: panelsAtOnce, width: width, panelBytes: panelBytes, codes, hasQuads: hasQuads)
        let products = KernelStep(groups * rowBlocks, scratchFloats: memory.floats) { piece, scratch in
            let group = piece / rowBlocks * panelsAtOnce
            let columns = group * width..<min((group + panelsAtOnce) * width, operands.width)
            let start = piece % rowBlocks * rowsPerBlock
            let end = min(start + rowsPerBlock, count)
            guard start < end, let target = operands.target.contiguousFloats else { return }
            for first in Swift.stride(from: columns.lowerBound, to: columns.upperBound, by: width) {
                memory.pack(
                    first..<min(first + width, columns.upperBound), as: (first - columns.lowerBound) / width, scratch)
            }
            var (x, weights) = (rows.rows, memory.weights(scratch))
            let corner = target + start * operands.width + columns.lowerBound
            ck_gemm_int8(&x, start, end - start, &weights, columns.count, corner, operands.width)
            for row in 0..<end - start { operands.finish(columns, of: corner + row * operands.width) }
        }
        return [rows.rounding, products]
    }

    /// Where a piece keeps its panels: codes, scales, shifts and sums of codes of all, then the unpacked rows of one.
    private struct Memory: Sendable {
        private let codes: IntegerCodes
        private let hasQuads: Bool
        private let (width, panelBytes): (Int, Int)
        /// Numbers of a panel: of scales, and as many of shifts and of sums.
        private let numbers: Int
        /// Floats before each part.
        private let (scales, shifts, codeSums, rowScales, rowShifts, unpacked): (Int, Int, Int, Int, Int, Int)
        let floats: Int

        init(panels: Int, width: Int, panelBytes: Int, _ codes: IntegerCodes, hasQuads: Bool) {
            (self.codes, self.hasQuads, self.width, self.panelBytes) = (codes, hasQuads, width, panelBytes)
            numbers = width * codes.blocks
            scales = (panels * panelBytes + 3) / 4
            shifts = scales + panels * numbers
            codeSums = shifts + (codes.hasShifts ? panels * numbers : 0)
            rowScales = codeSums + (hasQuads ? panels * numbers : 0)
            rowShifts = rowScales + numbers
            unpacked = rowShifts + (codes.hasShifts ? numbers : 0)
            floats = unpacked + codes.scratchFloats(rows: width)
        }

        func weights(_ memory: UnsafeMutablePointer<Float>) -> ck_int8_panels {
            ck_int8_panels(
                codes: bytes(memory), scales: memory + scales, shifts: codes.hasShifts ? memory + shifts : nil,
                depth: codes.columns, block: codes.block, blocks: codes.blocks, bits: Int32(codes.bits),
                has_quads: hasQuads ? 1 : 0, code_sums: sums(memory))
        }

        func pack(_ rows: Range<Int>, as panel: Int, _ memory: UnsafeMutablePointer<Float>) {
            var shape = weights(memory)
            codes.withCodes(from: rows.lowerBound) { packed in
                ck_pack_int8_panel(
                    codes.bytes(ofRows: rows.count, from: packed, scratch: memory + unpacked), codes.columns,
                    rows.count, codes.flipped, codes.middle, &shape, bytes(memory) + panel * panelBytes,
                    sums(memory) + panel * numbers)
            }
            codes.load(rows, scales: memory + rowScales, shifts: memory + rowShifts)
            transpose(rows.count, memory + rowScales, to: memory + scales + panel * numbers)
            if codes.hasShifts {
                transpose(rows.count, memory + rowShifts, to: memory + shifts + panel * numbers)
            }
        }

        private func bytes(_ memory: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<Int8> {
            UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int8.self)
        }

        private func sums(_ memory: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<Int32> {
            UnsafeMutableRawPointer(memory + codeSums).assumingMemoryBound(to: Int32.self)
        }

        /// From the blocks of each row to the rows of each block. Columns of the panel that have no row get 0.
        private func transpose(
            _ rows: Int, _ source: UnsafePointer<Float>, to target: UnsafeMutablePointer<Float>
        ) {
            for block in 0..<codes.blocks {
                for row in 0..<width {
                    target[block * width + row] = row < rows ? source[row * codes.blocks + block] : 0
                }
            }
        }
    }
}
