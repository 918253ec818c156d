import AccelPrograms
import AccelTensors

extension ImportRule {
    static let resizing: [ImportRule] = [
        ImportRule(
            "upsample_nearest_neighbor", reads: ["x", "scale_factor_height", "scale_factor_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(scaledSizes(call), nearest: true, sampling: nil)
        },
        ImportRule(
            "upsample_bilinear",
            reads: ["align_corners", "half_pixel_centers", "x", "scale_factor_height", "scale_factor_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            let aligned = try call.flag("align_corners", true)
            let centred = try call.flag("half_pixel_centers", !aligned)
            let sampling = aligned ? "STRICT_ALIGN_CORNERS" : centred ? "UNALIGN_CORNERS" : "ORIGIN"
            return try call.resized(scaledSizes(call), nearest: false, sampling: sampling)
        },
        ImportRule(
            "resize_nearest_neighbor", reads: ["x", "target_size_height", "target_size_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(targetSizes(call), nearest: true, sampling: nil)
        },
        ImportRule(
            "resize_bilinear", reads: ["sampling_mode", "x", "target_size_height", "target_size_width"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self]
        ) { call in
            try call.resized(targetSizes(call), nearest: false, sampling: call.word("sampling_mode", "DEFAULT"))
        },
        ImportRule(
            "resize", reads: ["x", "shape", "resized_dims", "interpolation_mode", "sampling_mode"],
            makes: [Add.self, Gather.self, Multiply.self, Subtract.self, Transpose.self], since: .iOS17
        ) { call in
            let (xSizes, shape) = (try call.sizes(of: call.one("x")), try call.integers("shape"))
            let count = try call.integer("resized_dims")
            guard (0...min(shape.count, xSizes.count)).contains(count) else {
                throw MILCall.Problem(reason: "\(count) resized axes do not fit \(xSizes)")
            }
            let sizes = zip(shape.suffix(count), xSizes.suffix(count)).map { $0 == 0 ? $1 : $0 }
            let isNearest = try call.word("interpolation_mode", "LINEAR") == "NEAREST_NEIGHBOR"
            let sampling = try call.word("sampling_mode", "DEFAULT")
            return try call.resized(sizes, nearest: isNearest, sampling: isNearest ? nil : sampling)
        },
    ]

    private static func scaledSizes(_ call: MILCall) throws -> [Int] {
        let xSizes = try call.sizes(of: call.one("x"))
        let factors = [try call.number("scale_factor_height", 1), try call.number("scale_factor_width", 1)]
        return try zip(xSizes.suffix(2), factors).map { inputSize, factor in
            guard let size = Int(exactly: (Double(inputSize) * factor).rounded(.down)), size >= 1 else {
                throw MILCall.Problem(reason: "cannot scale \(inputSize) by \(factor)")
            }
            return size
        }
    }

    private static func targetSizes(_ call: MILCall) throws -> [Int] {
        [try call.integer("target_size_height", 1), try call.integer("target_size_width", 1)]
    }
}

extension MILCall {
    /// Resizes the last axes of `x` to `sizes`, one after the other.
    fileprivate mutating func resized(_ sizes: [Int], nearest: Bool, sampling: String?) throws -> MILArgument {
        var x = try one("x")
        let rank = try self.sizes(of: x).count
        guard rank >= sizes.count, sizes.allSatisfy({ (1...1 << 24).contains($0) }) else {
            throw Problem(reason: "cannot make the last axes \(sizes)")
        }
        for (axis, size) in zip(rank - sizes.count..<rank, sizes) {
            let inputSize = try self.sizes(of: x)[axis]
            guard (1...1 << 32).contains(inputSize) else {
                throw Problem(reason: "cannot resize \(inputSize) elements")
            }
            let sources = try (0..<size).map { index -> (Int, Double) in
                if nearest { return (min(index * inputSize / size, inputSize - 1), 0) }
                let position = try Self.sourcePosition(index, of: size, in: inputSize, sampling ?? "DEFAULT")
                return (min(Int(position), inputSize - 1), position - Double(min(Int(position), inputSize - 1)))
            }
            let resize = HostOperation(
                "resize \(axis) \(size) \(sampling ?? "nearest")",
                type: { types in
                    var type = types[0]
                    type.dimensions[axis] = .fixed(size)
                    return type
                },
                { inputs in
                    let xSizes = inputs[0].shape.dimensions
                    let (outer, inner) = (xSizes[..<axis].reduce(1, *), xSizes[(axis + 1)...].reduce(1, *))
                    let x = inputs[0].floats
                    var result: [Float] = []
                    for o in 0..<outer {
                        for (lower, weight) in sources {
                            let (a, b) = (
                                (o * inputSize + lower) * inner, (o * inputSize + min(lower + 1, inputSize - 1)) * inner
                            )
                            for i in 0..<inner {
                                let value = Double(x[a + i])
                                result.append(
                                    weight == 0 ? x[a + i] : Float(value + weight * (Double(x[b + i]) - value)))
                            }
                        }
                    }
                    var shape = inputs[0].shape
                    shape.dimensions[axis] = size
                    return HostTensor(result, shape)
                }
            ).becoming { call, operands in
                let lower = try call.gathered(operands[0], axis, sources.map { $0.0 })
                guard sources.contains(where: { $0.1 != 0 }) else { return lower }
                let upper = try call.gathered(operands[0], axis, sources.map { min($0.0 + 1, inputSize - 1) })
                let along = (0..<rank).map { $0 == axis ? size : 1 }
                let shares = call.known(HostTensor(sources.map { Float($0.1) }, Shape(along)))
                let difference = try call.apply(Subtract(), [upper, lower])
                return try call.apply(Add(), [lower, try call.apply(Multiply(), [difference, shares])])
            }
            if size != inputSize || sampling == "OFFSET_CORNERS" { x = try apply(resize, [x]) }
        }
        return x
    }

    /// Returns the source position of element `index` of `size`, by Core ML's sampling modes.
    private static func sourcePosition(_ index: Int, of size: Int, in inputSize: Int, _ mode: String) throws -> Double {
        let (i, length, input) = (Double(index), Double(size), Double(inputSize))
        let position: Double
        switch mode {
        case "STRICT_ALIGN_CORNERS": position = size == 1 ? 0 : i * (input - 1) / (length - 1)
        case "ALIGN_CORNERS": position = size == 1 ? (input - 1) / 2 : i * (input - 1) / (length - 1)
        case "DEFAULT": position = size == 1 ? 0 : i * (input - input / length) / (length - 1)
        case "OFFSET_CORNERS":
            let delta = max(1, input - 1) / length
            position = 0.5 * delta + i * delta
        case "UNALIGN_CORNERS": position = (i + 0.5) * input / length - 0.5
        case "ORIGIN": position = i * input / length
        default: throw Problem(reason: "unknown sampling mode \(mode)")
        }
        return min(input - 1, max(0, position))
    }
}
