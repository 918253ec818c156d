import ByteIO
import Foundation
import Programs
import Tensors
import TestSupport

@testable import Packages

/// A kind of mistake in one field of a package; which field is drawn.
enum Mutation: String, CaseIterable {
    case functionName, functionPart, functionBinding, functionOrder, functionDropped, arena
    case inputPort, state, initialValue, output, interface
    case callDropped, callRepeated, callOrder, callLabel, operatorKind, attribute
    case operandStorage, operandOffset, operandType, operandShape, operandStride
    case weightName, weightType, weightShape, weightCodec, weightSections, section
    case manifestFunction, manifestCoverage, manifestFeatures, provenance, manifestFiles
    case sourceMap, asset, weightByte

    /// Changes one field.
    /// - Returns: what was changed, in words; nil when the package has no such field or nothing changed.
    func apply(to package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        switch self {
        case .functionName, .functionPart, .functionBinding, .functionOrder, .functionDropped, .arena, .inputPort,
            .state, .initialValue, .output, .interface:
            return applyToFunction(&package, &generator)
        case .callDropped, .callRepeated, .callOrder, .callLabel, .operatorKind, .attribute:
            return applyToCall(&package, &generator)
        case .operandStorage, .operandOffset, .operandType, .operandShape, .operandStride:
            return applyToOperand(&package, &generator)
        case .weightName, .weightType, .weightShape, .weightCodec, .weightSections, .section:
            return applyToWeight(&package, &generator)
        case .manifestFunction, .manifestCoverage, .manifestFeatures, .provenance, .manifestFiles:
            return applyToManifest(&package, &generator)
        case .sourceMap:
            return Self.change(&package.sourceMap, &generator)
        case .asset:
            guard let name = package.assets.keys.sorted().randomElement(using: &generator),
                var bytes = package.assets[name]
            else { return nil }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes.append(32)
            case 1: package.assets["other-\(name)"] = bytes
            case 2:
                package.assets[name] = nil
                return "\(name) dropped"
            default:
                guard let place = bytes.indices.randomElement(using: &generator) else { return nil }
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
            package.assets[name] = bytes
            return name
        case .weightByte:
            guard let section = package.sections.randomElement(using: &generator), section.byteCount > 0 else {
                return nil
            }
            let place = section.offset + Int.random(in: 0..<section.byteCount, using: &generator)
            package.blobs[section.blob][place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            package.hashSections()
            return "byte \(place) of blob \(section.blob)"
        }
    }

    /// The text with one letter another one.
    static func digit(of text: String) -> String {
        guard let last = text.last else { return "0" }
        return text.dropLast() + (last == "0" ? "1" : "0")
    }

    private static func change(_ document: inout JSON, _ generator: inout SeededGenerator) -> String? {
        guard let place = document.places.randomElement(using: &generator),
            let changed = document.mutated(at: place[...], &generator), changed != document
        else { return nil }
        document = changed
        return "at \(place)"
    }

    private func applyToManifest(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        let key =
            switch self {
            case .manifestFunction: "functions"
            case .manifestCoverage: "coverage"
            case .manifestFeatures: Bool.random(using: &generator) ? "features" : "format"
            case .manifestFiles: "files"
            default: "provenance"
            }
        if self == .manifestFunction { package.mirrorsFunctions = false }
        guard var member = package.manifest[key], let place = Self.change(&member, &generator) else { return nil }
        package.manifest.replace(key) { _ in member }
        return "\(key) \(place)"
    }

    private func applyToFunction(_ package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        guard let index = package.functions.indices.randomElement(using: &generator) else { return nil }
        var function = package.functions[index]
        let isOdd = Bool.random(using: &generator)
        switch self {
        case .functionName:
            guard isOdd, package.functions.count > 1 else {
                function.name = Mutation.digit(of: function.name)
                break
            }
            let other = (index + 1) % package.functions.count
            function.name = package.functions[other].name
            package.functions[other].name = package.functions[index].name
        case .functionPart:
            let others = Set(package.functions.map(\.part)).subtracting([function.part]).sorted()
            function.part = isOdd ? others.randomElement(using: &generator) ?? "other" : function.part + "x"
        case .functionBinding:
            guard let name = function.bindings.numbers.keys.sorted().randomElement(using: &generator) else {
                return nil
            }
            var numbers = function.bindings.numbers
            if isOdd {
                numbers[name, default: 0] += 1
            } else {
                numbers[name + "x"] = numbers.removeValue(forKey: name)
            }
            function.bindings = ShapeBindings(numbers)
        case .functionOrder:
            guard package.functions.count > 1 else { return nil }
            package.functions.swapAt(index, (index + 1) % package.functions.count)
            return "function \(index)"
        case .functionDropped:
            package.functions.remove(at: index)
            return "function \(index)"
        case .arena:
            function.arenaBytes += [64, -64, 1, 1 << 20].randomElement(using: &generator) ?? 1
        case .inputPort:
            guard let port = function.inputs.indices.randomElement(using: &generator) else { return nil }
            let name = function.inputs[port].name
            Mutation.change(&function.inputs[port], &generator)
            let role = function.interface.inputs.removeValue(forKey: name)
            function.interface.inputs[function.inputs[port].name] = role
        case .state:
            guard let state = function.states.indices.randomElement(using: &generator) else { return nil }
            var port = function.states[state].port
            Mutation.change(&port, &generator)
            let role = function.interface.states.removeValue(forKey: function.states[state].name)
            function.interface.states[port.name] = role
            (function.states[state].name, function.states[state].elementType) = (port.name, port.elementType)
            function.states[state].shape = port.shape
        case .initialValue:
            guard let name = function.states.randomElement(using: &generator)?.name else { return nil }
            let value = ([5, -0.0, 1, 1e-3] as [Double]).randomElement(using: &generator) ?? 5
            // Functions that share a state have to agree.
            for other in package.functions.indices {
                for state in package.functions[other].states.indices
                where package.functions[other].states[state].name == name {
                    package.functions[other].states[state].initial = value
                }
            }
            return "state \(name) starts as \(value)"
        case .interface:
            return Mutation.change(&package.functions[index].interface, &generator).map { "\(function.name) \($0)" }
        default:
            guard let output = function.outputs.indices.randomElement(using: &generator) else { return nil }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: function.outputs.remove(at: output)
            case 1: function.outputs[output].name += "x"
            default: function.outputs.swapAt(output, (output + 1) % function.outputs.count)
            }
        }
        package.functions[index] = function
        return function.name
    }

    private static func change(_ port: inout CompiledFunction.Port, _ generator: inout SeededGenerator) {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: port.name = digit(of: port.name)
        case 1: port.elementType = port.elementType == .float32 ? .int64 : .float32
        default: change(&port.shape, &generator)
        }
    }

    static func change(_ shape: inout Shape, _ generator: inout SeededGenerator) {
        guard let axis = shape.dimensions.indices.randomElement(using: &generator) else {
            shape.dimensions.append(1)
            return
        }
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: shape.dimensions[axis] += 1
        case 1: shape.dimensions.insert(1, at: axis)
        default: shape.dimensions.swapAt(axis, (axis + 1) % shape.rank)
        }
    }
}

extension Mutation {
    /// Changes what a function is for, what a port means, or a link, so that the package may well open.
    /// - Returns: what was changed, in words; nil where nothing was.
    fileprivate static func change(_ interface: inout Interface, _ generator: inout SeededGenerator) -> String? {
        let before = interface
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: interface.role = FunctionRole.all.randomElement(using: &generator) ?? .opaque
        case 1:
            guard let name = interface.outputs.keys.sorted().randomElement(using: &generator) else { return nil }
            interface.outputs[name] = nil
        case 2:
            guard let name = interface.inputs.keys.sorted().randomElement(using: &generator),
                let role = interface.inputs[name]
            else { return nil }
            interface.inputs[name] = Role(
                role.kind,
                role.parameters.mapValues { parameter in
                    if case .integer(let integer) = parameter { .integer(integer + 1) } else { parameter }
                })
        default:
            if interface.links.isEmpty {
                interface.inputs = [:]
            } else {
                interface.links.removeLast()
            }
        }
        return interface == before ? nil : "interface"
    }
}
