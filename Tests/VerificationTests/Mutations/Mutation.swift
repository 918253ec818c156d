import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport

@testable import AccelPackages

/// A kind of mistake in one field of a package; which field is drawn.
enum Mutation: String, CaseIterable {
    case functionNames, functionPart, functionBinding, functionOrder, functionDropped
    case inputPort, state, initialValue, update, output, outputValue, interface
    case nodeDropped, nodeRepeated, nodeOrder, nodeLabel, operatorKind, attribute
    case wiring, inputOrder, inputCount
    case constantName, constantType, constantShape, constantKind, constantDropped, codec, encoding, section
    case manifestFunction, manifestCoverage, manifestFeatures, provenance, manifestFiles
    case sourceMap, asset, weightByte

    /// Changes one field.
    /// - Returns: what was changed, in words; nil when the package has no such field or nothing changed.
    func apply(to package: inout DecodedPackage, _ generator: inout SeededGenerator) -> String? {
        switch self {
        case .functionNames, .functionPart, .functionBinding, .functionOrder, .functionDropped, .inputPort, .state,
            .initialValue, .update, .output, .outputValue, .interface:
            return applyToFunction(&package, &generator)
        case .nodeDropped, .nodeRepeated, .nodeOrder, .nodeLabel, .operatorKind, .attribute, .wiring, .inputOrder,
            .inputCount:
            return applyToNode(&package, &generator)
        case .constantName, .constantType, .constantShape, .constantKind, .constantDropped, .codec, .encoding, .section:
            return applyToConstant(&package, &generator)
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
            guard let section = package.weights.sections.randomElement(using: &generator), section.byteCount > 0 else {
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
    static func change(_ interface: inout Interface, _ generator: inout SeededGenerator) -> String? {
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
