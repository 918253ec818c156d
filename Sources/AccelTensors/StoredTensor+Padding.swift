import AccelByteIO

extension StoredTensor {
    /// Returns the tensor with zeros at the end of an axis, copied; itself if the axis has that length.
    /// - Parameter length: the length of the axis, in elements.
    /// - Precondition: the axis exists, and is not longer.
    package func zeroPadded(along axis: Int, to length: Int) -> StoredTensor {
        let old = shape.dimensions[axis]
        precondition(old <= length, "an axis cannot be padded to a shorter one")
        guard old < length else { return self }
        var dimensions = shape.dimensions
        dimensions[axis] = length
        let inner = dimensions[(axis + 1)...].reduce(elementType.byteCount, *)
        let outer = dimensions[..<axis].reduce(1, *)
        let target = ByteBuffer(count: outer * length * inner)
        bytes.withBytes { source in
            for row in 0..<outer where old * inner > 0 {
                UnsafeMutableRawBufferPointer(rebasing: target.bytes[(row * length * inner)...])
                    .copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: source[(row * old * inner)..<((row + 1) * old * inner)]))
            }
        }
        return StoredTensor(
            name: name, elementType: elementType, shape: Shape(dimensions), bytes: ByteView(target), file: file)
    }
}
