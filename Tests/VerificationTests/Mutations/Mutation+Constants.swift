import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport

@testable import AccelPackages

extension Mutation {
    func applyToConstant(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let index = package.constants.indices.randomElement(using: &generator) else { return nil }
        let (name, encodings) = (package.constants[index].name, package.weights.encodings)
        switch self {
        case .constantName:
            let other = Mutation.digit(of: name)
            package.constants[index].name = other
            // Functions follow, or the graph could not be written.
            for function in package.functions.indices {
                package.change(function) { program in
                    program.with(
                        constants: program.constants.map { constant in
                            guard constant.name == name else { return constant }
                            return .init(
                                name: other, elementType: constant.elementType, shape: constant.shape,
                                isWeight: constant.isWeight, value: constant.value, tensor: constant.tensor)
                        })
                }
            }
        case .constantType:
            let types: [ElementType] = [.float32, .float16, .bfloat16, .int64]
            package.constants[index].elementType = types.randomElement(using: &generator) ?? .float32
        case .constantShape: Mutation.change(&package.constants[index].shape, &generator)
        case .constantKind: package.constants[index].isWeight.toggle()
        case .constantDropped:
            // One that nothing reads can be left off; the encoder rejects another.
            package.constants.remove(at: index)
            package.weights.encodings.remove(at: index)
        case .codec:
            let others = Set(encodings.map(\.codec) + ["stored", "float16", "int8", "palette:bits=4,group=8"])
            package.weights.encodings[index].codec = others.sorted().randomElement(using: &generator) ?? ""
        case .encoding:
            guard let place = encodings[index].sections.indices.randomElement(using: &generator),
                let other = package.weights.sections.indices.randomElement(using: &generator),
                encodings[index].sections[place] != other
            else { return nil }
            package.weights.encodings[index].sections[place] = other
        default:
            guard let section = package.weights.sections.indices.randomElement(using: &generator) else { return nil }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: package.weights.sections[section].offset += 64
            case 1: package.weights.sections[section].byteCount += 1
            default: package.weights.sections[section].digest = SHA256.digest(of: ByteView([UInt8(1)]))
            }
            return "section \(section)"
        }
        return name
    }
}
