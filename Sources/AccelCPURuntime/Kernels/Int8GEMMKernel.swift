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
    private let encoding: String

    init(_ call: PreparedCall) throws(Unsuitable) {
        operands = try LinearOperands(call)
        guard let weight = operands.weight.storedWeight, let codes = IntegerCodes(weight) else {
            throw Unsuitable("takes weights stored as integers only")
        }
        (self.codes, encoding) = (codes, weight.encoding)
        rows = RoundedRows(operands, with: codes, readsStepCodes: false, in: call.workspace)
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
        let memory = Memory(panels: panelsAtOnce, width: width, panelBytes: panelBytes, codes)
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
            var (x, weights) = (rows.rows, memory.weights(scratch, depth: operands.depth))
            let corner = target + start * operands.width + columns.lowerBound
            ck_gemm_int8(&x, start, end - start, &weights, columns.count, corner, operands.width)
            for row in 0..<end - start { operands.finish(columns, of: corner + row * operands.width) }
        }
        return [rows.rounding, products]
    }

    /// Where a piece keeps its panels: codes, scales and shifts of all, then the unpacked rows of one.
    private struct Memory: Sendable {
        private let codes: IntegerCodes
        private let (width, panelBytes): (Int, Int)
        /// Floats before each part.
        private let (scales, shifts, rowScales, rowShifts, unpacked): (Int, Int, Int, Int, Int)
        let floats: Int

        init(panels: Int, width: Int, panelBytes: Int, _ codes: IntegerCodes) {
            (self.codes, self.width, self.panelBytes) = (codes, width, panelBytes)
            let numbers = width * codes.blocks
            scales = (panels * panelBytes + 3) / 4
            shifts = scales + panels * numbers
            rowScales = shifts + (codes.hasShifts ? panels * numbers : 0)
            rowShifts = rowScales + numbers
            unpacked = rowShifts + (codes.hasShifts ? numbers : 0)
            floats = unpacked + codes.scratchFloats(rows: width)
        }

        func weights(_ memory: UnsafeMutablePointer<Float>, depth: Int) -> ck_int8_panels {
            ck_int8_panels(
                codes: UnsafeRawPointer(memory).assumingMemoryBound(to: Int8.self), scales: memory + scales,
                shifts: codes.hasShifts ? memory + shifts : nil, depth: depth, block: codes.block,
                blocks: codes.blocks)
        }

        func pack(_ rows: Range<Int>, as panel: Int, _ memory: UnsafeMutablePointer<Float>) {
            let target = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int8.self) + panel * panelBytes
            codes.withCodes(from: rows.lowerBound) { packed in
                let bytes = codes.bytes(ofRows: rows.count, from: packed, scratch: memory + unpacked)
                ck_pack_int8_panel(
                    bytes, codes.columns, rows.count, codes.columns, codes.flipped, codes.middle, target)
            }
            codes.load(rows, scales: memory + rowScales, shifts: memory + rowShifts)
            let numbers = panel * width * codes.blocks
            transpose(rows.count, memory + rowScales, to: memory + scales + numbers)
            if codes.hasShifts { transpose(rows.count, memory + rowShifts, to: memory + shifts + numbers) }
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
