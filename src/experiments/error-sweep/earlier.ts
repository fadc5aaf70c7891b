/** Records of earlier formats, converted to the present one, so that old runs can be reported. */
import {cellKey} from '../../results/keys.js'
import {schemaName} from '../experiment.js'
import {type ErrorSweepResult, LEAST_FOR_ERRORS, VERSION} from './schema.js'

const SCHEMA = schemaName('error-sweep', VERSION)
/** Read, but written no more: means without standard errors, needs of a head of mean norm. */
const EARLIER_SCHEMA = schemaName('error-sweep', 2)

/** Parsed JSON that may be anything. */
type Loose = Record<string, unknown>

/**
 * A record of an earlier format as one of the present format; anything else as it is. The result still
 * has to be checked against its schema.
 */
export function asPresentRecord(value: unknown): unknown {
  if (!isObject(value) || value.schema !== EARLIER_SCHEMA) return value
  const {cell, key, result} = value
  const replicates = isObject(cell) ? Number(cell.replicates) : Number.NaN
  const keyOf = (schema: string) => cellKey(schema, cell as object)
  return {
    ...value,
    schema: SCHEMA,
    ...(key === keyOf(EARLIER_SCHEMA) && {key: keyOf(SCHEMA)}),
    ...(isObject(result) && {result: withoutErrors(withWorstHead(result), replicates)}),
  }
}

/** Standard errors of means were not kept, if there were replicates enough for them. */
function withoutErrors(result: Loose, replicates: number): Loose {
  const added: Partial<ErrorSweepResult> = {
    mse_standard_error: null,
    bias_squared_standard_error: null,
    variance_standard_error: null,
    means_unknown: isFew(replicates) ? 'few_replicates' : 'not_recorded',
  }
  return {...result, ...added}
}

/** Too few to have standard errors, and more than a method that draws nothing has. */
function isFew(replicates: number): boolean {
  return replicates > 1 && replicates < LEAST_FOR_ERRORS
}

/**
 * The features that the worst head needs, in place of the prediction at the mean norm of all heads. Heads beyond
 * doubles were `null`, like heads without theory: they stay unknown.
 */
function withWorstHead(result: Loose): Loose {
  const heads = Array.isArray(result.per_head) ? result.per_head.filter(isObject) : []
  const needs = heads.map(({needed_num_features: need}) => need)
  const known = needs.filter(need => typeof need === 'number')
  const worst = known.length === needs.length && known.length > 0 ? Math.max(...known) : null
  const added: Partial<ErrorSweepResult> = {
    predicted_relative_variance: null,
    needed_num_features: worst,
    needed_num_features_log10: log10(worst),
    least_needed_num_features: known.length > 0 ? Math.min(...known) : null,
  }
  return {
    ...result,
    ...added,
    per_head: heads.map(head => ({
      ...head,
      needed_num_features_log10: log10(head.needed_num_features),
    })),
  }
}

function log10(need: unknown): number | null {
  return typeof need === 'number' ? Math.log10(need) : null
}

function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
