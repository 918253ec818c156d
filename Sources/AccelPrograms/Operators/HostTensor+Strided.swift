import AccelTensors

extension HostTensor {
    /// Returns the elements that `layout` visits, in row-major order.
    /// - Precondition: the layout stays within the tensor.
    func gathering(_ layout: StridedLayout) -> HostTensor {
        if layout.offset == 0, layout.isContiguous, layout.shape.count == shape.count {
            var same = self
            same.shape = layout.shape
            return same
        }
        return switch elements {
        case .float32(let floats): HostTensor(layout.elements(of: floats), layout.shape)
        case .float16(let floats): HostTensor(.float16(layout.elements(of: floats)), layout.shape)
        case .int8(let bytes): HostTensor(.int8(layout.elements(of: bytes)), layout.shape)
        case .int64(let integers): HostTensor(layout.elements(of: integers), layout.shape)
        case .bool(let flags): HostTensor(layout.elements(of: flags), layout.shape)
        }
    }

    /// Returns the tensor broadcast to `shape`.
    /// - Precondition: its shape broadcasts to `shape`.
    func expanded(to shape: Shape) -> HostTensor {
        shape == self.shape ? self : gathering(StridedLayout(shape: self.shape).expanded(to: shape))
    }

    func transposed(_ permutation: [Int]) throws -> HostTensor { try Transpose(permutation).evaluate([self])[0] }
}

extension Shape {
    /// Returns `function` of each pair of elements of two tensors that broadcast to the shape. The tensors are read in place: a
    /// broadcast copy of an attention mask's row and column would take as much memory as the mask.
    func broadcasting<First, Second, Result>(
        _ x: [First], _ xShape: Shape, _ y: [Second], _ yShape: Shape, _ function: (First, Second) -> Result
    ) -> [Result] {
        let (first, second) = (
            StridedLayout(shape: xShape).expanded(to: self), StridedLayout(shape: yShape).expanded(to: self)
        )
        guard let width = dimensions.last else { return [function(x[0], y[0])] }
        let (step, otherStep) = (first.strides[rank - 1], second.strides[rank - 1])
        var result: [Result] = []
        result.reserveCapacity(count)
        guard !dimensions.contains(0) else { return [] }
        for row in 0..<count / width {
            var (rest, start, otherStart) = (row, first.offset, second.offset)
            for axis in (0..<rank - 1).reversed() {
                let index = rest % dimensions[axis]
                rest /= dimensions[axis]
                start += index * first.strides[axis]
                otherStart += index * second.strides[axis]
            }
            for column in 0..<width {
                result.append(function(x[start + column * step], y[otherStart + column * otherStep]))
            }
        }
        return result
    }
}

extension StridedLayout {
    func elements<Element>(of source: [Element]) -> [Element] {
        var result: [Element] = []
        result.reserveCapacity(shape.count)
        guard let width = shape.dimensions.last, let step = strides.last else { return [source[offset]] }
        forEachRow { start in
            for column in 0..<width { result.append(source[start + column * step]) }
        }
        return result
    }

    /// Calls `body` with the index of the first element of each innermost row, in row-major order.
    func forEachRow(_ body: (Int) -> Void) {
        guard !shape.dimensions.contains(0) else { return }
        Shape(shape.dimensions.dropLast()).forEachOffset(from: offset, by: strides, body)
    }
}
