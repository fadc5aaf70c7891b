import {loadEstimators, type PresetName, unknownMethod} from '../attention/names.js'
import {expected} from '../errors.js'
import type {Block} from '../report/document.js'
import {
  type FeatureSize,
  type MethodFacts,
  methodFacts,
  methodReport,
  methodsReport,
  presetReport,
} from '../report/methods.js'
import {type ProjectionFacts, projectionFacts, projectionsReport} from '../report/projections.js'
import type {EstimatorFacts} from './plans/method-specs.js'

/** What `rfa methods` was asked for. */
export interface MethodsRequest extends FeatureSize {
  /** One estimator; all when not given. */
  name: string | undefined
  /** Only what this preset does. */
  preset: PresetName | undefined
}

/**
 * The report that answers the request, with the facts it shows.
 *
 * @throws {UNKNOWN_NAME} for a method that is not in the registry
 */
export async function describeMethods(
  request: MethodsRequest,
): Promise<{blocks: Block[]; methods: MethodFacts[]}> {
  const {name, preset} = request
  const estimators: EstimatorFacts = await loadEstimators()
  const all = Object.values(estimators).map(estimator => methodFacts(estimator, request))
  if (name === undefined) {
    if (preset === undefined) return {blocks: methodsReport(all, request), methods: all}
    const able = all.filter(({presets}) => presets.some(own => own.preset === preset))
    return {blocks: presetReport(all, preset), methods: able}
  }
  const method = all.find(own => own.name === name)
  if (!method) throw unknownMethod('methods', name)
  return {blocks: methodReport(method, preset), methods: [method]}
}

/**
 * The table of projections, with the facts it shows.
 *
 * @param name - an estimator that was named too
 * @throws {USAGE} when one was
 */
export function describeProjections(name: string | undefined): {
  blocks: Block[]
  projections: ProjectionFacts[]
} {
  if (name !== undefined) throw expected('USAGE', '--projections', 'no estimator beside it', name)
  const projections = projectionFacts()
  return {blocks: projectionsReport(projections), projections}
}
