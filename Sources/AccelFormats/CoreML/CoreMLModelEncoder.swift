import AccelByteIO

extension CoreMLModel {
    /// The bytes of `model.mlmodel`.
    var encoded: [UInt8] {
        var writer = ProtobufWriter()
        writer.integer(1, Int64(specificationVersion))
        writer.message(2) { description in
            if interfaces.count == 1 {
                description.interface(interfaces[0], inputs: 1, outputs: 10, states: 13)
            } else {
                for interface in interfaces {
                    description.message(20) { function in
                        function.string(1, interface.function)
                        function.interface(interface, inputs: 2, outputs: 3, states: 6)
                    }
                }
                description.string(21, interfaces.first?.function ?? "")
            }
            description.message(100) { message in
                message.string(1, metadata.description)
                message.string(2, metadata.version)
                message.string(3, metadata.author)
                message.string(4, metadata.license)
                for item in metadata.other { message.entry(100, item.name) { $0.string(2, item.content) } }
            }
        }
        writer.program(502, program)
        return writer.bytes
    }
}

extension ProtobufWriter {
    fileprivate mutating func interface(_ interface: CoreMLModel.Interface, inputs: Int, outputs: Int, states: Int) {
        for feature in interface.inputs { self.feature(inputs, feature, isState: false) }
        for feature in interface.outputs { self.feature(outputs, feature, isState: false) }
        for feature in interface.states { self.feature(states, feature, isState: true) }
    }

    private mutating func feature(_ field: Int, _ feature: CoreMLModel.Feature, isState: Bool) {
        message(field) { message in
            message.string(1, feature.name)
            message.string(2, feature.description)
            message.message(3) { type in
                if isState {
                    type.message(8) { $0.message(1) { $0.arrayType(feature) } }
                } else {
                    type.message(5) { $0.arrayType(feature) }
                }
            }
        }
    }

    /// An `ArrayFeatureType`.
    private mutating func arrayType(_ feature: CoreMLModel.Feature) {
        let shape = feature.type.sizes ?? feature.enumeratedShapes.first
        if let shape { packed(1, variable: shape.map(UInt64.init)) }
        integer(2, feature.type.dataType.arrayType)
        if !feature.enumeratedShapes.isEmpty {
            message(21) { message in
                for shape in feature.enumeratedShapes {
                    message.message(1) { $0.packed(1, variable: shape.map(UInt64.init)) }
                }
            }
        }
        if !feature.shapeRanges.isEmpty {
            message(31) { message in
                for range in feature.shapeRanges {
                    message.message(1) { size in
                        size.integer(1, Int64(range.lowerBound))
                        size.integer(2, range.upperBound == .max ? -1 : Int64(range.upperBound))
                    }
                }
            }
        }
    }
}

extension MILDataType {
    /// The number in `ArrayFeatureType.ArrayDataType` (FeatureTypes.proto): the types that applications pass in and out.
    var arrayType: Int64 {
        switch self {
        case .float16: 65552
        case .float64: 65600
        case .int32: 131_104
        case .int8: 131_080
        default: 65568
        }
    }

    init?(arrayType: Int64) {
        guard
            let type = [MILDataType.float16, .float32, .float64, .int32, .int8].first(where: {
                $0.arrayType == arrayType
            })
        else { return nil }
        self = type
    }
}
