package serve

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lockbench/reports/campaign"
	"lockbench/reports/format"
)

// sumCampaign reads the state of a campaign and fills in its summary.
func (s *Server) sumCampaign(f *folder) error {
	var c campaign.State
	err := s.read(path.Join(f.Name, campaign.StateName), &c)
	if err == nil {
		err = c.Check()
	}
	if err != nil {
		return err
	}
	f.Campaign, f.What, f.Started, f.Ended, f.interrupted = &c, c.Verb+" "+c.What, c.Started, !c.Ended.IsZero(), c.Interrupted
	f.Counts, f.Agents, f.Slots = campaignCounts(c), c.Agents, c.Slots()
	switch idle := s.now().Sub(c.Written); {
	case f.Ended && c.Interrupted:
		f.States = []state{interrupted}
	case f.Ended:
		f.States = []state{done}
	default:
		f.Progress = &progress{Planned: c.Planned, Finished: c.Done, LastWrite: c.Written, Idle: idle, Alive: idle < idleTimeout}
		if f.States = []state{stopped}; f.Progress.Alive {
			f.States = []state{running}
		}
	}
	return nil
}

// readAgents reads the agents of a run that is under way. Only a run with agents has a state.
func (s *Server) readAgents(f *folder) {
	var c campaign.State
	if s.read(path.Join(f.Name, campaign.StateName), &c) == nil && c.Check() == nil && c.Ended.IsZero() {
		f.Agents, f.Slots = c.Agents, c.Slots()
	}
}

// campaignCounts returns text with the numbers of a campaign: what is done, how fast, and what was found.
func campaignCounts(c campaign.State) string {
	text := format.Plural(c.Done, c.Unit)
	if c.Planned > 0 {
		text = fmt.Sprintf("%s of %s", format.Count(c.Done), format.Plural(c.Planned, c.Unit))
	}
	if rate := c.PerSecond(); rate >= 0.1 {
		text += fmt.Sprintf(", %s per second", format.Significant(rate))
	} else if rate > 0 {
		text += fmt.Sprintf(", %s per minute", format.Significant(60*rate))
	}
	return strings.Join(slices.DeleteFunc([]string{text, c.Found}, func(s string) bool { return s == "" }), "; ")
}

// mostPictures is the maximum number of pictures on the page of a campaign.
const mostPictures = 30

// pictures returns the names of the pictures in the folder of a campaign, each without its extension .svg.
func (s *Server) pictures(name string) (all []string) {
	files, _ := fs.ReadDir(s.root.FS(), name) // after an error, the page has no pictures
	for _, f := range files {
		if base, is := strings.CutSuffix(f.Name(), ".svg"); is && f.Type().IsRegular() && len(all) < mostPictures {
			all = append(all, base)
		}
	}
	return all
}
