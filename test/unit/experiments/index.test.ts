import {readdirSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {
  allExperiments,
  comparisonOf,
  EXPERIMENT_NAMES,
  experimentNamed,
} from '../../../src/experiments/index.js'

describe('the registry of experiments', () => {
  it('has a line for every folder', () => {
    const folders = readdirSync('src/experiments', {withFileTypes: true})
      .filter(entry => entry.isDirectory())
      .map(({name}) => name)
    expect(folders.sort()).toEqual([...EXPERIMENT_NAMES].sort())
  })

  it('has a command of the name of each', () => {
    const commands = readdirSync('commands').map(file => file.replace(/\.ts$/, ''))
    expect(commands).toEqual(expect.arrayContaining([...EXPERIMENT_NAMES]))
  })

  it('knows each by its own name, with a format of its own', async () => {
    const experiments = await allExperiments()
    expect(experiments.map(({name}) => name)).toEqual(EXPERIMENT_NAMES)
    const formats = experiments.map(({schema}) => schema)
    expect(formats).toEqual(
      expect.arrayContaining(['rfa.bench/1', 'rfa.error-sweep/3', 'rfa.variance/2']),
    )
    expect(new Set(formats).size).toBe(formats.length)
  })

  it('says which runs are compared, of one that is not', async () => {
    await expect(comparisonOf(await experimentNamed('train'))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: 'compare: expected runs of error-sweep or bench or variance, got one of train',
    })
  })

  it.each(['benhc', 'constructor'])('refuses %s, with what may have been meant', async name => {
    await expect(experimentNamed(name)).rejects.toMatchObject({code: 'UNKNOWN_NAME'})
  })
})

describe('every experiment', async () => {
  it.each(await allExperiments())('$name has tables whose columns are named once', ({tables}) => {
    expect(tables[0]!.suffix).toBe('')
    for (const table of tables) {
      const names = table.columns().map(({name}) => name)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toContain('key')
    }
  })

  it.each(await allExperiments())('$name reports no records at all', async ({report}) => {
    expect(await report([])).toEqual([])
  })
})
