import {EXPERIMENT_NAMES} from '../../experiments/index.js'

/** What `rfa methods --records` tells the tables of: experiments, and commands that write tables of their own. */
export const TABLE_OWNERS: readonly string[] = [...EXPERIMENT_NAMES, 'claims', 'compare']
