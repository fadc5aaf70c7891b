import {z} from 'zod'
import {runManifest} from '../results/manifest.js'
import {runSummary} from '../results/summary.js'
import {allExperiments} from './index.js'

/**
 * The files' formats as JSON Schema (draft 2020-12), for readers in other languages.
 *
 * @returns schemas by file name, e.g. `bench-record.schema.json`
 */
export async function jsonSchemas(): Promise<Record<string, object>> {
  const experiments = await allExperiments()
  const schemas: [name: string, title: string, schema: z.ZodType][] = [
    ...experiments.flatMap(({name, title, plan, record}): typeof schemas => [
      [`${name}-plan`, `Plan of ${title}`, plan],
      [`${name}-record`, `One cell of ${title}`, record],
    ]),
    ['run-manifest', 'manifest.json of a run', runManifest(experiments)],
    ['run-summary', 'summary.json of a run', runSummary],
  ]
  return Object.fromEntries(
    schemas.map(([name, title, schema]) => {
      const {$schema, ...rest} = z.toJSONSchema(schema, {target: 'draft-2020-12'})
      return [`${name}.schema.json`, {$schema, title, ...rest}]
    }),
  )
}
