import AccelByteIO

/// Writes an ML Program as protocol buffers (MIL.proto). The bytes depend on the program only.
extension ProtobufWriter {
    mutating func program(_ field: Int, _ program: MILProgram) {
        message(field) { message in
            message.integer(1, 1)
            for function in program.functions {
                message.entry(2, function.name) { $0.message(2) { $0.function(function) } }
            }
        }
    }

    /// Writes an entry of a map from strings; `content` writes field 2.
    mutating func entry(_ field: Int, _ key: String, _ content: (inout ProtobufWriter) -> Void) {
        message(field) { entry in
            entry.string(1, key)
            content(&entry)
        }
    }

    private mutating func function(_ function: MILFunction) {
        for input in function.inputs { named(1, input) }
        string(2, function.opset)
        entry(3, function.opset) { entry in
            entry.message(2) { block in
                for output in function.outputs { block.string(2, output) }
                for operation in function.operations { block.message(3) { $0.operation(operation) } }
            }
        }
    }

    private mutating func operation(_ operation: MILOperation) {
        string(1, operation.type)
        for input in operation.inputs {
            entry(2, input.name) { entry in
                entry.message(2) { argument in
                    for binding in input.content {
                        argument.message(1) { message in
                            switch binding {
                            case .name(let name): message.string(1, name)
                            case .value(let value): message.message(2) { $0.value(value) }
                            }
                        }
                    }
                }
            }
        }
        for output in operation.outputs { named(3, output) }
        for attribute in operation.attributes {
            entry(5, attribute.name) { $0.message(2) { $0.value(attribute.content) } }
        }
    }

    private mutating func named(_ field: Int, _ value: MILNamed<MILType>) {
        message(field) { message in
            message.string(1, value.name)
            message.message(2) { $0.type(value.content) }
        }
    }

    private mutating func type(_ type: MILType) {
        switch type {
        case .tensor(let tensor): self.tensorType(1, tensor)
        case .state(let tensor): message(5) { $0.message(1) { $0.tensorType(1, tensor) } }
        }
    }

    private mutating func tensorType(_ field: Int, _ type: MILTensorType) {
        message(field) { message in
            message.integer(1, Int64(type.dataType.rawValue))
            message.integer(2, Int64(type.rank))
            for size in type.dimensions {
                message.message(3) { dimension in
                    if let size {
                        dimension.message(1) { $0.integer(1, Int64(size)) }
                    } else {
                        dimension.message(2) { _ in }
                    }
                }
            }
        }
    }

    private mutating func value(_ value: MILValue) {
        message(2) { $0.tensorType(1, value.type) }
        if case .blob(let offset) = value.content {
            message(5) { blob in
                blob.string(1, MILProgram.blobFileName)
                blob.integer(2, Int64(offset))
            }
            return
        }
        message(3) { $0.message(1) { $0.content(value.content) } }
    }

    /// Writes a `TensorValue`: the elements inside of a field for their kind.
    private mutating func content(_ content: MILValue.Content) {
        switch content {
        case .floats(let floats):
            message(1) { $0.packed(1, floats.map(\.bitPattern)) }
        case .integers(let integers):
            message(2) { $0.packed(1, variable: integers.map { UInt64(bitPattern: Int64($0)) }) }
        case .flags(let flags):
            message(3) { $0.packed(1, variable: flags.map { $0 ? 1 : 0 }) }
        case .words(let words):
            message(4) { message in words.forEach { message.element(1, $0) } }
        case .longs(let longs):
            message(5) { $0.packed(1, variable: longs.map { UInt64(bitPattern: $0) }) }
        case .doubles(let doubles):
            message(6) { $0.packed(1, doubles.map(\.bitPattern)) }
        case .bytes(let bytes):
            message(7) { $0.bytes(1, bytes) }
        case .blob:
            break
        }
    }
}

extension MILProgram {
    /// The name of the blob file in programs.
    static let blobFileName = "@model_path/weights/weight.bin"
}
