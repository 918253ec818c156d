import AccelByteIO
import AccelCPURuntime
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// A mistake that a converter could make, injected into a copy of a program in memory. A new fault is a value beside those of its kind, and
/// a name in `Faults.swift`.
protocol Fault: Sendable {
    /// e.g. `swap nibbles`
    var name: String { get }
    /// A description of the change, for the report.
    var detail: String { get }
}

/// A mistake in the stored bytes of a weight; the weights stage has to catch it.
struct WeightFault: Fault {
    let name, detail: String
    /// Returns the weight with the fault; nil if the codec or the shape does not allow it. The program's other weights are for mistakes that
    /// mix two of them up.
    let inject: @Sendable (_ weight: StoredBytes, _ others: [CompressedTensor]) throws -> [StoredBytes]?
}

/// A mistake in the execution plan of a function; the operators stage has to catch it.
struct PlanFault: Fault {
    let name, detail: String
    /// Returns the function with the fault, once for each call that allows it. A change may leave the outputs equal,
    /// because both values are equal; the first one that changes them is used.
    let inject: @Sendable (_ function: FunctionPlan, _ weights: [CompressedTensor]) -> [FunctionPlan]
}

/// A mistake in the results of a kernel; the operators stage has to catch it.
struct KernelFault: Fault {
    let name, detail: String
    /// Returns whether the fault is one of an operator's kernels.
    let applies: @Sendable (any Operator) -> Bool
    /// Returns the results of a call with the fault.
    let inject: @Sendable (_ results: [HostTensor]) -> [HostTensor]
}

/// A fault in a package apart from the codes of its weights; the structure stage has to catch it.
struct StructureFault: Fault {
    let name, detail: String
    /// Returns the package with the fault; nil if it is not applicable.
    let inject: @Sendable (PackageContents) -> PackageContents?
}

/// A stored weight whose bytes can be changed.
struct StoredBytes {
    private let weight: CompressedTensor
    var sections: [[UInt8]]
    /// The name under which the bytes are stored.
    var name: String

    init(_ weight: CompressedTensor) {
        self.weight = weight
        name = weight.name
        sections = weight.sections.map { $0.withBytes { Array($0) } }
    }

    var shape: Shape { weight.shape }
    var codec: any WeightCodec { weight.codec }

    func tensor() throws -> CompressedTensor {
        try CompressedTensor(
            name: name, elementType: weight.elementType, shape: weight.shape, codec: weight.codec,
            sections: sections.map { ByteView($0) }, file: "memory")
    }

    /// Returns whether another weight has the same byte layout.
    func hasLayout(of other: CompressedTensor) -> Bool { weight.hasLayout(of: other) }

    func index(of section: String) -> Int? {
        codec.sections(elementType: weight.elementType, shape: shape).firstIndex { $0.name == section }
    }

    /// The index of the section with one entry for each element: codes, or the values themselves.
    var elements: Int { index(of: "codes") ?? 0 }
    /// The bytes of a row in that section.
    var rowBytes: Int { shape.rows == 0 ? 0 : sections[elements].count / shape.rows }
    /// The bytes that a fault moves together in that section: a byte of codes, or a whole value.
    var unit: Int { index(of: "codes") == nil ? max(1, rowBytes / max(shape.columns, 1)) : 1 }
    /// The bits of a code, to the nearest whole number.
    var codeBits: Int {
        if let codec = codec as? GGMLCodec { return Int(codec.bitsPerWeight) }
        return shape.columns == 0 ? 0 : (8 * rowBytes + shape.columns / 2) / shape.columns
    }

    /// Returns the value of an option of the codec or of an inner codec.
    func option(_ name: String) -> String? { codec.values.layers.lazy.map { $0[name] }.first { !$0.isEmpty } }

    /// Codes beside the nearest one are also valid (gptq). A small change then gives another valid weight, which only
    /// the package's digests detect, so that faults are larger for such weights.
    var hasFreedom: Bool { codec.method == .gptq }

    /// Returns the type of the numbers in a section; nil if they are not floating-point numbers.
    func numbers(in section: String) -> ElementType? {
        switch section {
        case "scales", "biases": option("scales") == "float16" ? .float16 : .float32
        case "palettes": option("entries") == "float16" ? .float16 : .float32
        case "outliers": option("values") == "float16" ? .float16 : .float32
        case "values":
            switch codec.values.layers.last?.codec {
            case "float32": .float32
            case "float16": .float16
            case "bfloat16": .bfloat16
            default: weight.elementType.isFloatingPoint ? weight.elementType : nil
            }
        default: nil
        }
    }

    /// Multiplies numbers of a section; nil if the section has no such floating-point numbers.
    func scaled(_ section: String, _ range: Range<Int>, by factor: Float) -> StoredBytes? {
        guard let index = index(of: section), let type = numbers(in: section) else { return nil }
        var copy = self
        for number in range {
            let offset = number * type.byteCount
            guard offset + type.byteCount <= copy.sections[index].count else { return nil }
            let changed = copy.sections[index].withUnsafeMutableBytes { bytes -> Bool in
                switch type {
                case .float32:
                    let value = Float(bitPattern: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                    bytes.storeBytes(of: (value * factor).bitPattern, toByteOffset: offset, as: UInt32.self)
                case .bfloat16:
                    let bits = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                    let value = Float(bitPattern: UInt32(bits) << 16) * factor
                    let rounded = UInt16(truncatingIfNeeded: (value.bitPattern &+ 0x8000) >> 16)
                    bytes.storeBytes(of: rounded, toByteOffset: offset, as: UInt16.self)
                case .float16:
                    let bits = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
                    bytes.storeBytes(of: HalfBits.scaled(bits, by: factor), toByteOffset: offset, as: UInt16.self)
                default: return false
                }
                return true
            }
            guard changed else { return nil }
        }
        return copy
    }

    /// Replaces the first byte of a section, a floating-point number, by its neighbour towards zero, or away from zero at zero.
    func movingFirstByte(of section: Int, by step: UInt8) -> StoredBytes {
        var copy = self
        guard let first = copy.sections[section].first else { return copy }
        copy.sections[section][0] = first & 0x7F < step ? first + step : first - step
        return copy
    }

    /// Multiplies a float16 number at an offset of the first section; nil if the section ends before it.
    func scaledHalf(at offset: Int, by factor: Float) -> StoredBytes? {
        guard let first = sections.first, offset + 2 <= first.count else { return nil }
        var copy = self
        copy.sections[0].withUnsafeMutableBytes { bytes in
            let bits = bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
            bytes.storeBytes(of: HalfBits.scaled(bits, by: factor), toByteOffset: offset, as: UInt16.self)
        }
        return copy
    }
}

extension CompressedTensor {
    /// Returns whether another weight has the same byte layout.
    func hasLayout(of other: CompressedTensor) -> Bool {
        other.name != name && other.shape == shape && other.elementType == elementType
            && other.codec.specification == codec.specification
    }
}

/// Half-precision arithmetic on bit patterns, because `Float16` is not available on every platform.
enum HalfBits {
    /// Returns the product, with its fraction rounded to nearest. A subnormal number, or one whose product is subnormal
    /// or overflows, is returned unchanged.
    static func scaled(_ bits: UInt16, by factor: Float) -> UInt16 {
        let exponent = Int(bits >> 10 & 0x1F)
        guard exponent > 0, exponent < 31 else { return bits }
        let significand = Float(1024 + Int(bits & 0x3FF)) * factor
        var (fraction, shifted) = (significand, exponent)
        while fraction >= 2048 {
            fraction /= 2
            shifted += 1
        }
        while fraction < 1024, shifted > 1 {
            fraction *= 2
            shifted -= 1
        }
        guard shifted < 31, fraction >= 1024 else { return bits }
        let rounded = Int(fraction.rounded())
        return bits & 0x8000 | UInt16(min(shifted << 10 + (rounded - 1024), 0x7BFF))
    }
}
