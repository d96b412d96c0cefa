const name = String.raw`(?:IF (?:NOT )?EXISTS )?[\w.{}:]+`
const definitions = new RegExp(
  String
    .raw`^(\s*(?:CREATE (?:DATABASE|TABLE|MATERIALIZED VIEW)|DROP (?:VIEW|TABLE)|TRUNCATE TABLE|ALTER TABLE) ${name})`
)

/**
 * A statement as it is for all servers of a cluster, each of which holds a replica of every table: definitions are
 * carried out on all of them, and what one of them takes in reaches the others. Other statements stay as they are, and
 * so do all without a cluster.
 */
export const onCluster = (cluster: string | undefined) => (statement: string): string =>
  cluster === undefined
    ? statement
    : statement
      .replace(definitions, `$1 ON CLUSTER ${cluster}`)
      .replace(/\bENGINE = (\w*MergeTree)\b/, "ENGINE = Replicated$1")
      .replace(/\bnon_replicated_deduplication_window\b/, "replicated_deduplication_window")
