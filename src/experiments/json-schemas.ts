import {z} from 'zod'
import {runManifest} from '../results/schemas/manifest.js'
import {runSummary} from '../results/summary.js'
import {benchPlan, benchRecord} from './bench/schema.js'
import {errorSweepPlan, errorSweepRecord} from './error-sweep/schema.js'
import {variancePlan, varianceRecord} from './variance/schema.js'

/** What each schema file describes. */
const SCHEMAS: Record<string, {title: string; schema: z.ZodType}> = {
  'error-sweep-plan': {title: 'Plan of an error sweep', schema: errorSweepPlan},
  'error-sweep-record': {title: 'One cell of an error sweep', schema: errorSweepRecord},
  'bench-plan': {title: 'Plan of a benchmark', schema: benchPlan},
  'bench-record': {title: 'One cell of a benchmark', schema: benchRecord},
  'variance-plan': {title: 'Plan of a variance experiment', schema: variancePlan},
  'variance-record': {title: 'One cell of a variance experiment', schema: varianceRecord},
  'run-manifest': {title: 'manifest.json of a run', schema: runManifest},
  'run-summary': {title: 'summary.json of a run', schema: runSummary},
}

/**
 * The files' formats as JSON Schema (draft 2020-12), for readers in other languages.
 *
 * @returns schemas by file name, e.g. `bench-record.schema.json`
 */
export function jsonSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(SCHEMAS).map(([name, {title, schema}]) => {
      const {$schema, ...rest} = z.toJSONSchema(schema, {target: 'draft-2020-12'})
      return [`${name}.schema.json`, {$schema, title, ...rest}]
    }),
  )
}
