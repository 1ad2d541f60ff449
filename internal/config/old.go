package config

import "strings"

// Former is a name that the Rust daemon knew.
type Former struct {
	Now string // the setting that takes its value; empty if none does
	Why string // what replaces it
}

// formerKeys are the keys of the Rust daemon's file (curio @ e0294b0f,
// cuzk-core config) that are not settings here under the same name.
var formerKeys = map[string]Former{
	"daemon.status_listen":            {Now: "daemon.admin_listen"},
	"srs.param_cache":                 {Now: "srs.params_dir"},
	"memory.working_memory_budget":    {Why: "memory.total_budget covers it"},
	"gpus.gpu_threads":                {Why: "no part of a proof is left to the processor; synthesis.threads bounds what it does"},
	"gpus.gpu_workers_per_device":     {Why: "each device has one owner that overlaps copying and computing by itself"},
	"gpus.affinity":                   {Why: "keys stay on the devices that use them by themselves"},
	"scheduler.max_batch_size":        {Why: "partitions are proved one by one and share a loaded key without waiting for a batch"},
	"scheduler.max_batch_wait_ms":     {Why: "nothing waits for a batch"},
	"scheduler.sort_by_type":          {Why: "the order is class, then age; see scheduler.age_step"},
	"synthesis.partition_workers":     {Why: "see scheduler.witnesses, of which each uses all processors"},
	"pipeline.enabled":                {Why: "there is one way to prove, partition by partition"},
	"pipeline.synthesis_lookahead":    {Why: "see scheduler.witnesses_ahead"},
	"pipeline.synthesis_concurrency":  {Why: "see scheduler.witnesses"},
	"pipeline.max_parallel_synthesis": {Why: "see scheduler.witnesses, of which each uses all processors"},
	"pipeline.slot_size":              {Why: "a partition is the unit"},
	"pipeline.max_gpu_queue_depth":    {Why: "see scheduler.witnesses_ahead; memory bounds it already"},
}

// formerEnv are the environment variables that the Rust daemon or its libraries
// read and this program does not.
var formerEnv = map[string]Former{
	"CUZK_GPU_THREADS":         {Why: "no part of a proof is left to the processor; synthesis.threads bounds what it does"},
	"CUZK_DISABLE_PCE":         {Why: "circuits are always compiled"},
	"CUZK_DISABLE_SPLIT_PROVE": {Why: "there is one way to prove"},
	"CUZK_VALIDATE_PARTITIONS": {Why: "every partition is always checked"},
	"CUZK_RUN_BELLPERSON":      {Why: "the library that read it is not used"},
	"RUST_LOG":                 {Why: "see logging.level"},
	"CUDA_VISIBLE_DEVICES":     {Why: "no variable selects devices; see gpus.devices"},
}

// formerPrefixes are families of such variables.
var formerPrefixes = map[string]Former{
	"CUZK_VK_":    {Why: "there is no Vulkan backend"},
	"FIL_PROOFS_": {Why: "only FIL_PROOFS_PARAMETER_CACHE is read"},
	"BELLMAN_":    {Why: "the library that read it is not used"},
}

// FormerKey tells what became of a key of the Rust daemon.
func FormerKey(key string) (Former, bool) {
	f, ok := formerKeys[key]
	return f, ok
}

// FormerKeys lists them with what became of them.
func FormerKeys() map[string]Former {
	out := make(map[string]Former, len(formerKeys))
	for k, f := range formerKeys {
		out[k] = f
	}
	return out
}

// formerVariable tells the same of an environment variable.
func formerVariable(name string) (Former, bool) {
	if name == paramsEnv {
		return Former{}, false
	}
	if f, ok := formerEnv[name]; ok {
		return f, true
	}
	for p, f := range formerPrefixes {
		if strings.HasPrefix(name, p) {
			return f, true
		}
	}
	return Former{}, false
}

// String says it to a person.
func (f Former) String() string {
	if f.Now != "" {
		return "is now called " + f.Now
	}
	return "has no effect: " + f.Why
}
