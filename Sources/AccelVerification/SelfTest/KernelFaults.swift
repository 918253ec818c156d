import AccelPrograms
import AccelTensors

extension KernelFault {
    /// A code of a key/value cache is another one.
    static let flippedStateCode = KernelFault(
        name: "flip a code of a state", detail: "the lowest bit of one code of a key/value cache is the other one",
        applies: { $0 is RoundRows }
    ) { results in
        results.map { $0.flippingBit(ofByte: 0) }
    }

    /// The scale of a row of a key/value cache is another one.
    static let changedStateScale = KernelFault(
        name: "change a scale of a state", detail: "the scale of one row of a key/value cache is the next number",
        applies: { $0 is RoundRows }
    ) { results in
        // The scale follows the codes, as a little-endian number.
        results.map { $0.flippingBit(ofByte: $0.wideningRows().shape.dimensions.last ?? 0) }
    }
}

extension HostTensor {
    /// Returns rows of codes with the lowest bit of one byte flipped.
    fileprivate func flippingBit(ofByte index: Int) -> HostTensor {
        guard case .int8(var bytes) = elements, bytes.indices.contains(index) else { return self }
        bytes[index] ^= 1
        return HostTensor(.int8(bytes), shape)
    }
}
