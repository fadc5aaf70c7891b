import {
  loadEstimators,
  PROJECTION_NAMES,
  type PresetName,
  unknownMethod,
} from '../../attention/names.js'
import {expected, type RfaError, unknownName} from '../../errors.js'
import type {LoadedPlugin} from '../../plugins/load.js'
import type {Block} from '../../report/document.js'
import {
  type FeatureSize,
  type MethodFacts,
  methodFacts,
  methodReport,
  methodsReport,
  methodsScreen,
  presetReport,
} from '../../report/methods.js'
import {
  type ProjectionFacts,
  projectionFacts,
  projectionReport,
  projectionsReport,
  projectionsScreen,
} from '../../report/projections.js'
import type {EstimatorFacts} from '../plans/method-specs.js'

/** What `rfa methods` was asked for. */
export interface MethodsRequest extends FeatureSize {
  /** Estimators to show in full. Default: the list of all. */
  names?: readonly string[]
  /** Only what this preset does. */
  preset: PresetName | undefined
  /** The list as a table, not by groups. Default: true */
  details?: boolean
  /** Plug-ins that were loaded for it. */
  plugins?: readonly LoadedPlugin[]
}

/**
 * The report that answers the request, with the facts it shows.
 *
 * @throws {UNKNOWN_NAME} for a method that is not in the registry
 */
export async function describeMethods(
  request: MethodsRequest,
): Promise<{blocks: Block[]; methods: MethodFacts[]}> {
  const {names = [], preset, details = true, plugins = []} = request
  const estimators: EstimatorFacts = await loadEstimators()
  const ownerOf = (method: string) =>
    plugins.find(({record}) => record.methods.includes(method))?.record.path
  const all = Object.values(estimators).map(estimator =>
    methodFacts(estimator, request, ownerOf(estimator.name)),
  )
  if (names.length === 0) {
    if (preset === undefined) {
      return {blocks: details ? methodsReport(all, request) : methodsScreen(all), methods: all}
    }
    const able = all.filter(({presets}) => presets.some(own => own.preset === preset))
    return {blocks: presetReport(all, preset), methods: able}
  }
  const methods = [...new Set(names)].map(name => {
    const method = all.find(own => own.name === name)
    if (!method) throw noSuchMethod(name)
    return method
  })
  return {blocks: methods.flatMap(method => methodReport(method, preset)), methods}
}

/** Who names a projection has found the right command, but the wrong list. */
function noSuchMethod(name: string): RfaError {
  if (!(PROJECTION_NAMES as readonly string[]).includes(name)) return unknownMethod('methods', name)
  const remedy = `rfa methods ${name} --projections`
  return expected('UNKNOWN_NAME', 'methods', 'a method', `the projection ${name}`, remedy)
}

/**
 * Projections in full, or the table of all, with the facts shown.
 *
 * @param names - projections. Default: all
 * @param details - the list as a table, not by groups. Default: true
 * @throws {UNKNOWN_NAME} for one that does not exist
 */
export function describeProjections(
  names: readonly string[] = [],
  details = true,
): {
  blocks: Block[]
  projections: ProjectionFacts[]
} {
  const all = projectionFacts()
  if (names.length === 0) {
    return {blocks: details ? projectionsReport(all) : projectionsScreen(all), projections: all}
  }
  const projections = [...new Set(names)].map(name => {
    const own = all.find(projection => projection.name === name)
    if (!own) throw unknownName('--projections', 'projections', name, PROJECTION_NAMES)
    return own
  })
  return {blocks: projections.flatMap(projectionReport), projections}
}
