import AccelByteIO
import AccelCPURuntime
import AccelPackages

/// The limits of budgets and devices, checked against what a report has.
extension ParityReport {
    /// Finds the entries of a budget that apply to nothing.
    /// - Parameters:
    ///   - stages: the requested stages, run or not.
    ///   - resources: what is measured where the subject has it. Outputs are judged together where their stage is requested only.
    mutating func checkUse(
        of budget: Budget?, asked stages: Set<Stage>, measured resources: Set<Resource> = Set(Resource.allCases)
    ) {
        let measured = stages.contains(.outputs) ? resources : resources.subtracting([.together])
        budgetMistakes = budget?.mistakes(in: self, asked: stages, measured: measured) ?? []
        uncheckedLimits = budget?.unchecked(by: stages, measured: measured) ?? []
    }

    /// Removes the failures that a budget allows: differences of structure, and items that were not compared.
    mutating func allow(by budget: Budget) {
        func isAllowed(_ difference: StructureFinding.Difference) -> Bool {
            budget.allowedDifferences.contains { $0.names(difference.name) }
        }
        if let differences = structure?.differences {
            structure?.allowed = differences.filter(isAllowed)
            structure?.differences = differences.filter { !isAllowed($0) }
        }
        for index in notCompared.indices where notCompared[index].isRequired {
            guard budget.allowedGaps.contains(where: { $0.namesGap(notCompared[index].name) }) else { continue }
            (notCompared[index].isRequired, notCompared[index].isAllowed) = (false, true)
        }
    }

    /// Compares sizes, memory and speed with the limits of a budget.
    /// - Parameters:
    ///   - subject: what has the sizes; they are known of packages only.
    ///   - speed: measures the speed relative to float32; nil if there is nothing to measure.
    mutating func checkResources(
        _ limits: [ResourceLimit], of subject: Subject, speed: () throws -> SpeedFigure?
    ) throws {
        for limit in limits {
            var measured: SpeedFigure?
            var place: String?
            let value: Double?
            switch limit.resource {
            case .storedBytes: value = Double(storedBytes)
            case .bitsPerWeight: value = bitsPerWeight
            case .packageBytes: value = try subject.fileBytes.map(Double.init)
            case .memoryBytes:
                value = try subject.package.map {
                    Double(try Footprint(of: $0.graph, packageBytes: $0.byteCount).memoryBytes)
                }
            case .together:
                let least = together.min { ($0.sqnr, $0.function) < ($1.sqnr, $1.function) }
                (value, place) = (least?.sqnr, together.count > 1 ? least?.function : nil)
            case .speed:
                measured = try speed()
                value = measured?.ratio
            }
            if let value {
                self.limits.append(
                    LimitFinding(limit.resource, value: value, limit: limit.limit, at: place, measured: measured))
            }
        }
    }

    /// Adds what the package is worth on a text, and compares it with the limits of a budget, else with the usual ones.
    /// - Throws: `RequestError` for a limit on a figure that the model does not have.
    public mutating func add(_ quality: QualityFinding, budget: Budget?) throws {
        self.quality = quality
        let own = budget?.quality ?? []
        for figure in quality.figures where !own.contains(where: { $0.kind == figure.kind }) {
            guard let limit = figure.kind.usualLimit else { continue }
            limits.append(
                LimitFinding(
                    figure.kind.title, isLeast: figure.kind.isLeast, value: figure.value, limit: limit,
                    origin: "the usual limits of quality"))
        }
        for limit in own {
            guard let value = quality.figure(limit.kind) else {
                throw RequestError(
                    "\(budget?.file ?? ""), field quality.\(limit.kind.rawValue): the model has no such figure; it has "
                        + quality.figures.map(\.kind.rawValue).joined(separator: ", "))
            }
            limits.append(
                LimitFinding(
                    limit.kind.title, isLeast: limit.kind.isLeast, value: value, limit: limit.limit,
                    origin: "quality.\(limit.kind.rawValue) of the budget"))
        }
    }

    /// Compares a package with the limits of a device.
    mutating func checkSize(_ profile: DeviceProfile, of package: AcceleratorPackage) throws {
        let footprint = try Footprint(of: package.graph, packageBytes: package.byteCount)
        limits += profile.limits(of: footprint).map { resource, needed, limit in
            LimitFinding(
                resource == .package ? .packageBytes : .memoryBytes, value: Double(needed), limit: Double(limit),
                origin: "the profile \(profile.name)")
        }
    }
}
